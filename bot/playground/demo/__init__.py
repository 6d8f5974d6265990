"""What the playground's bot runs: tools, settings and policy, written to be copied."""
