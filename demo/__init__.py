"""The demo: a sample class and its grading. It is in the repository, not in the wheel."""
