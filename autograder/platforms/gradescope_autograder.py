"""Gradescope's autograder.zip: the kit, one exercise with its solution, and two scripts.

It holds what students must not see: the solution, the checks, and the secret of the inputs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.building.build import TRACES
from autograder.errors import KitError
from autograder.model.exercise import Exercise, shared_folders
from autograder.releasing.contents import Files, archive_of
from autograder.releasing.wheel import (
    build_wheel,
    needed,
    read_wheel,
    requirements_text,
    wheel_requires,
)

# The two scripts in Gradescope's autograder.zip, after its documentation for autograders.
#
# https://gradescope-autograders.readthedocs.io/en/latest/specs/: the zip's files are put into
# /autograder/source. As root, `setup.sh` runs there once, when the image is built, and
# /autograder/run_autograder for every hand-in. That finds the hand-in in /autograder/submission,
# and leaves /autograder/results/results.json. What it prints is shown to instructors only.

SETUP, RUN = "setup.sh", "run_autograder"
SECRET_NAME, SOLUTIONS, REQUIREMENTS = "input.secret", "solutions", "requirements.txt"
# Where Gradescope puts everything. Only the kit's tests have another place.
_ROOT = "root=${ATTN_AUTOGRADER_ROOT:-/autograder}"

_SETUP = """#!/usr/bin/env bash
# Made by `attn platform gradescope`. Gradescope runs it as root, once, when it builds the image.
set -euo pipefail
@ROOT@
export DEBIAN_FRONTEND=noninteractive

fits() {
  "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# The versions of the packages were chosen with the first of these.
names=(@PYTHONS@)
python=
for name in "${names[@]}"; do
  if fits "$name"; then python=$name; break; fi
done
if [ -z "$python" ]; then
  for name in "${names[@]}"; do
    if apt-get install -y "$name" "$name-venv" && fits "$name"; then python=$name; break; fi
  done
fi
if [ -z "$python" ]; then
  echo "error: no Python 3.11 or newer can be installed in this image"
  echo "cure:  choose a newer base image where you upload the zip"
  exit 1
fi
if ! ldconfig -p | grep 'libseccomp\\.so\\.2' >/dev/null; then apt-get install -y libseccomp2; fi

cd "$root/source"
"$python" -m venv "$root/kit"
"$root/kit/bin/python" -m pip install --quiet --requirement @REQUIREMENTS@
chmod a+rx "$root"
chmod -R a+rX "$root/kit"
# Students' code runs as another user, who may not even look here.
chmod -R go= "$root/source"
"$root/kit/bin/attn" doctor || true
"""

_RUN = """#!/usr/bin/env bash
# Made by `attn platform gradescope`. It grades what lies in submission/, and writes
# results/results.json.
# What it prints is for instructors. Without a score, it leaves no results: that is not a zero.
set -euo pipefail
@ROOT@
exercise=@EXERCISE@
attn=$root/kit/bin/attn
results=$root/results/results.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$root/results" "$work/class" "$work/graded"
chmod go= "$root/results"
rm -f "$results"
# Links stay links. A folder around the hand-in keeps it from passing for a course.
cp -RP "$root/submission" "$work/class/submission"
install -m 600 "$root/source/@SECRET@" "$work/graded/@SECRET@"
cd "$work"

code=0
"$attn" grade class --exercise "$exercise" --solutions "$root/source/@SOLUTIONS@" \\
  --output graded --processes 1@OPTIONS@ || code=$?
if [ "$code" -gt 1 ]; then
  echo "No score: grading was refused, as said above. If this machine offers no protection, grade"
  echo "elsewhere ('attn platform collect' reads Gradescope's export), or make the zip again with"
  echo "'attn platform gradescope $exercise --allow-protection process', if you trust the code."
  exit "$code"
fi
"$attn" result graded --format gradescope --to "$results"
"""


def setup_script(python: str) -> str:
    """Return setup.sh; `python` is the version that is best, such as "3.12"."""
    names = (f"python{python}", "python3", "python3.13", "python3.12", "python3.11")
    return _filled(_SETUP, PYTHONS=" ".join(dict.fromkeys(names)), REQUIREMENTS=REQUIREMENTS)


def run_script(exercise: str, options: Sequence[str] = ()) -> str:
    """Return run_autograder, which grades `exercise` with further options of `attn grade`."""
    return _filled(
        _RUN,
        EXERCISE=shlex.quote(exercise),
        OPTIONS="".join(f" {shlex.quote(option)}" for option in options),
        SECRET=SECRET_NAME,
        SOLUTIONS=SOLUTIONS,
    )


def _filled(script: str, **values: str) -> str:
    for name, value in {"ROOT": _ROOT, **values}.items():
        script = script.replace(f"@{name}@", value)
    return script


# Gradescope's own limit is not documented; far more than an exercise and a wheel of the kit have.
LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class GradescopeAutograder:
    """What goes into the zip: the exercise, the secret that its inputs are drawn from, further
    options of `attn grade`, and a wheel of the kit (None: one is built)."""

    exercise: Exercise
    secret: bytes
    options: tuple[str, ...] = ()
    wheel: Path | None = None

    def files(self) -> Files:
        """Return the files of the zip, by path; raise `KitError` when they cannot be made."""
        name, content = read_wheel(self.wheel) if self.wheel else build_wheel(())
        extras = ["grading", *(["torch"] if self.exercise.library == "torch" else [])]
        requirements = requirements_text(f"./{name}", needed(_requires(name, content), extras))
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {
            SETUP: setup_script(python).encode(),
            RUN: run_script(self.exercise.name, self.options).encode(),
            REQUIREMENTS: requirements.encode(),
            SECRET_NAME: self.secret,
            name: content,
            **_solution(self.exercise),
        }

    def archive(self) -> bytes:
        """Return the zip; its scripts are executable. Raises as `files`."""
        return archive_of(self.files(), executable=(SETUP, RUN))


def _requires(name: str, content: bytes) -> list[str]:
    with TemporaryDirectory(prefix="attention-kit-") as scratch:
        file = Path(scratch, name)
        file.write_bytes(content)
        return wheel_requires(file)


def _solution(exercise: Exercise) -> Files:
    """Return the files that grading reads: the exercise's own, and those that it shares."""
    root = exercise.folder.resolve()
    files: Files = {}
    for folder in (root, *shared_folders(root)):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(root.parent)
            if path.is_file() and not set(inside.parts) & set(TRACES):
                files[f"{SOLUTIONS}/{inside.as_posix()}"] = path.read_bytes()
    if sum(map(len, files.values())) > LARGEST:
        raise KitError(
            "the exercise has more files than an autograder.zip can take",
            place=str(root),
            cure="keep only the exercise's own files in its folder",
        )
    return files
