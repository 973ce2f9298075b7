"""What a learner sees in a terminal, and the keys."""
