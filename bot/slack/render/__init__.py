"""What people see: pure functions from rows to messages, one file per surface."""
