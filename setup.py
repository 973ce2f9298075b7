"""What pyproject.toml cannot say: in a wheel the public exercises lie inside the package.

Their home is `assignments/`, where an editable installation finds them. Nothing of
`solutions/` is ever packed.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
TRACES = shutil.ignore_patterns(".*", "__pycache__", "*~")


class WithAssignments(build_py):
    """Copies each exercise's folder to `autograder/assignments/` in the wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        demo = Path(self.build_lib) / "demo"  # for the repository, not for students
        if demo.exists():  # `attn release` builds from a copy without it
            shutil.rmtree(demo)
        target = Path(self.build_lib) / "autograder" / "assignments"
        for manifest in sorted(HERE.glob("assignments/*/exercise.toml")):
            folder = manifest.parent
            shutil.copytree(folder, target / folder.name, ignore=TRACES, dirs_exist_ok=True)


setup(cmdclass={"build_py": WithAssignments})
