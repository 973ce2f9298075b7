"""The nbgrader course: packaging, collecting, gradebook and feedback are nbgrader's.

nbgrader never runs a student's code here and never decides a score: it gets
well-formed notebooks to carry and verdicts to write down.
"""

from autograder.course.creation import Course, create_course, read_course

__all__ = ["Course", "create_course", "read_course"]
