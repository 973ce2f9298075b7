"""Proof that the graders are right: every known mistake caught and named, no right answer refused."""
