"""What a grader file is written with, and the pytest plugin that runs it.

`graders.py` uses the fixtures `student`, `draw` and `chain`, the marks `step`,
`public` and `chain_of_steps`, and, in `misconceptions.py`, `misconception` and
`solution_beside`.
"""

from autograder.checks.reference import misconception, solution_beside

__all__ = ["misconception", "solution_beside"]
