"""Says whether this machine can grade untrusted code or only run the exercises, and why."""

from autograder.doctor.examination import Examination, examine
from autograder.doctor.findings import as_json, tell

__all__ = ["Examination", "as_json", "examine", "tell"]
