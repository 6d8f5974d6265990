"""How people meet it in Slack: what they see, what they do, and how it gets there."""
