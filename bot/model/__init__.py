"""What a run talks to: one endpoint over HTTP, and the dialects that it may speak."""
