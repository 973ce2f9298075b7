"""Makes `python -m autograder.cli` do what `attn` does."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # `-m` puts the current folder there, and students' files may be in it

from autograder.cli import main

main()
