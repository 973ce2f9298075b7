"""The learner's commands: those that answer once, and `attn watch`."""
