"""The command `attn`, and how it starts.

A grader process runs the same script as its starter, and takes from this package what writes pages.
So importing it is cheap.
"""


def main() -> None:
    """Read the command line and run the command; never returns."""
    from autograder.cli.command_line import attn

    attn()
