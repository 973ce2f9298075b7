"""The two scripts in Gradescope's autograder.zip, after its documentation for autograders.

https://gradescope-autograders.readthedocs.io/en/latest/specs/: the zip's files are put into
/autograder/source. As root, `setup.sh` runs there once, when the image is built, and
/autograder/run_autograder for every hand-in. That finds the hand-in in /autograder/submission, and
leaves /autograder/results/results.json. What it prints is shown to instructors only.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

SETUP, RUN = "setup.sh", "run_autograder"
SECRET_NAME, SOLUTIONS, REQUIREMENTS = "input.secret", "solutions", "requirements.txt"
# Where Gradescope puts everything. Only the kit's tests have another place.
_ROOT = "root=${ATTN_AUTOGRADER_ROOT:-/autograder}"

_SETUP = """#!/usr/bin/env bash
# Made by `attn gradescope`. Gradescope runs it as root, once, when it builds the image.
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
# Made by `attn gradescope`. It grades what lies in submission/, and writes results/results.json.
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
  echo "elsewhere ('attn collect' reads Gradescope's export), or make the zip again with"
  echo "'attn gradescope $exercise --allow-protection process', only for code that you trust."
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
