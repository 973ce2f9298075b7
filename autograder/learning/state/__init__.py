"""What a learner has: a workspace, progress and saved files."""
