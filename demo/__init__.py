"""The demo: a sample class, graded for all to see. It is in the repository, not in the wheel."""
