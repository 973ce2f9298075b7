"""Right answers get full marks on the way that a hand-in goes: as a file, through the sandbox.

Inside this process everything can be handed to a function, and everything comes back. Between a
check and a student's code lies the wire, which only some values cross. So the reference's own
file is graded, and for each variant a file in which its steps stand in place of the reference's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder.grading.batch import grade_batch
from autograder.model.exercise import SOLUTION, Exercise, shared_folders
from autograder.model.verdict import Finding, Outcome, Verdict
from autograder.submission.reading import Submission, read_submission
from autograder.verification.variants import Variant

# Put below the reference's steps. A worker knows nothing of the kit's checks and can read no
# folder of solutions, so the modules come along as text.
LOADER = """

import sys as _sys
import types as _types

_texts = {texts!r}


def _module(path):
    module = _types.ModuleType(path.replace("/", "_").removesuffix(".py"))
    module.__file__ = path
    exec(compile(_texts[path], path, "exec"), vars(module))
    return module


_checks = _types.ModuleType("autograder.checks")
_checks.shared_beside = lambda file, path: _module(path)
_checks.solution_beside = lambda file: _module({solution!r})
_sys.modules["autograder.checks"] = _checks
_steps = _module({variants!r}).{variant}
"""


def sandbox_gaps(exercise: Exercise, variants: Iterable[Variant]) -> tuple[str, ...]:
    """Grade the reference and every variant as hand-ins; return a sentence for each refusal.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    texts = _texts(exercise)
    files = {"the reference": texts[SOLUTION]}
    files |= {f"the variant {each.name}": _file(each, texts) for each in variants}
    with tempfile.TemporaryDirectory() as directory:
        submissions = [
            _handed_in(exercise, name, text, Path(directory) / f"{number}.py")
            for number, (name, text) in enumerate(files.items())
        ]
        verdicts = grade_batch(exercise.folder, submissions)
    return tuple(gap for verdict in verdicts for gap in _gaps(verdict))


def _texts(exercise: Exercise) -> dict[str, str]:
    """Return the code that a variant may load, by the name that it loads it by."""
    folder = exercise.folder.resolve()
    shared = (path for each in shared_folders(folder) for path in sorted(each.rglob("*.py")))
    paths = {SOLUTION: folder / SOLUTION, "variants.py": folder / "variants.py"}
    paths |= {path.relative_to(folder.parent).as_posix(): path for path in shared}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


def _file(variant: Variant, texts: dict[str, str]) -> str:
    loader = LOADER.format(
        texts=texts, solution=SOLUTION, variants="variants.py", variant=variant.name
    )
    steps = "".join(f"{step} = _steps.{step}\n" for step in variant.steps)
    # Otherwise, if the variant could not be loaded, the reference would pass in its place.
    without = f"del {', '.join(variant.steps)}\n"
    return f"{texts[SOLUTION]}\n{without}{loader}{steps}"


def _handed_in(exercise: Exercise, name: str, text: str, path: Path) -> Submission:
    path.write_text(text, encoding="utf-8")
    return replace(read_submission(path, exercise, name), student=name)


def _gaps(verdict: Verdict) -> Iterator[str]:
    for step in verdict.steps:
        failing = step.failing
        if failing and failing.finding:
            yield (
                f"in the sandbox, {verdict.student} fails {failing.name} of {step.name}: "
                f"{_why(failing.finding)}"
            )
        elif step.leaning:
            yield (
                f"in the sandbox, {verdict.student} passes {step.name} only with the reference's "
                "answers in place of earlier steps: let its class work with its own steps"
            )
    chain = verdict.chain
    if chain.outcome is not Outcome.PASSED and chain.finding:
        yield f"in the sandbox, {verdict.student} fails the steps end to end: {_why(chain.finding)}"


def _why(finding: Finding) -> str:
    """Return the words of a finding, as the author of the checks needs them."""
    if finding.outcome is Outcome.INFRASTRUCTURE and finding.details:
        return f"the check could not be run ({'; '.join(finding.details)})"
    return " ".join([finding.message, *finding.details])
