"""The nbgrader course: nbgrader does the packaging, collecting, gradebook and feedback.

Here nbgrader never runs a student's code and never decides a score. It gets
well-formed notebooks to carry, and verdicts to record.
"""

from autograder.course.creation import Course, create_course, read_course

__all__ = ["Course", "create_course", "read_course"]
