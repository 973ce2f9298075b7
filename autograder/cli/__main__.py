"""Lets `python -m autograder.cli` do what `attn` does."""

from autograder.cli import main

main()
