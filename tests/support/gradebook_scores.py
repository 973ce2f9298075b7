"""The points that a gradebook has, cell by cell."""

from __future__ import annotations

from autograder.course.creation import Course
from autograder.course.gradebook_entries import read_gradebook


def scores(course: Course, exercise: str) -> dict[str, dict[str, float]]:
    """For each student the points by cell (`check_softmax`), without the cells that are open."""
    found = {
        student: {
            f"check_{cell.step}" if cell.step else cell.name: cell.points
            for cell in entry.cells
            if not cell.open
        }
        for student, entry in read_gradebook(course, exercise).entries.items()
    }
    return {student: cells for student, cells in found.items() if cells}


def points(course: Course, exercise: str) -> dict[str, float]:
    """For each student all the points."""
    return {student: sum(cells.values()) for student, cells in scores(course, exercise).items()}
