"""What pyproject.toml cannot say: in a wheel the public exercises lie inside the package.

Their home is `assignments/`, where an editable installation finds them. Nothing of
`solutions/` is ever packed: `answers/` is there only where `attn release --with-answers` builds.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
TRACES = shutil.ignore_patterns(".*", "__pycache__", "*~")


class WithAssignments(build_py):
    """Copies each exercise's folder into the package in the wheel, and answers if there are any."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        demo = Path(self.build_lib) / "demo"  # for the repository, not for students
        if demo.exists():  # `attn release` builds from a copy without it
            shutil.rmtree(demo)
        package = Path(self.build_lib) / "autograder"
        exercises = [manifest.parent for manifest in HERE.glob("assignments/*/exercise.toml")]
        answers = [solution.parent for solution in HERE.glob("answers/*/solution.py")]
        for folder in sorted([*exercises, *answers]):
            target = package / folder.parent.name / folder.name
            shutil.copytree(folder, target, ignore=TRACES, dirs_exist_ok=True)


setup(cmdclass={"build_py": WithAssignments})
