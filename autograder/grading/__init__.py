"""Grading: from submissions to verdicts, in watched grader processes."""
