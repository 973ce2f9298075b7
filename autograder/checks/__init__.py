"""What a grader file is written with, and the pytest plugin that runs it.

`graders.py` uses the fixtures `student`, `draw` and `chain`, the marks `step`,
`public`, `by_hand` and `chain_of_steps`. `shared_beside` takes code from a folder that exercises
share, `solution_beside` the reference, and `walkthrough_beside` the numbers of the text.
"""

from autograder.checks.reference import shared_beside, solution_beside, walkthrough_beside

__all__ = ["shared_beside", "solution_beside", "walkthrough_beside"]
