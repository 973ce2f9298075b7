"""Grading: from submissions to verdicts, one grader process per core."""
