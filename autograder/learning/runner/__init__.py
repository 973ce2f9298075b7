"""Runs the learner's own code in a separate process with a time limit."""
