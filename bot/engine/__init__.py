"""Carries runs forward: units of work around the pure machine, and their effects."""
