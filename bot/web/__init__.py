"""The pages and probes that are not Slack's."""
