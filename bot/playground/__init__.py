"""A Slack of your own, on this machine: a try-out and the product's test bed.

Nothing is imported here, so that the demo below this package stays light. The
server is `server.Playground`, the command is `command.command`. Nothing in this
package imports from the bot outside it, except `demo/`, written to be copied.
"""
