"""The learner's commands: those that answer once, and the one that watches."""
