"""Proof of the graders: every known mistake is caught and named, no right answer is refused."""
