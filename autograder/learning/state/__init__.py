"""What a learner has: a workspace, what was reached, what is saved."""
