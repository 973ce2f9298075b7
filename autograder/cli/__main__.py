"""Lets `python -m autograder.cli` do what `attn` does."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # `-m` puts the current folder there, which may hold what students handed in

from autograder.cli import main

main()
