"""The learner's own code, run in a process of its own with a time limit."""
