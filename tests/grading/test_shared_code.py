"""What exercises share: taken from the folder beside them, and kept from students like a solution.

Three guards have to know of it, or fail silently: the hash under which verdicts are kept, the
search for leaks, and what is hidden from a worker.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from autograder.authoring.harness import read_harness, read_variants
from autograder.authoring.leak import refuse_leaks, secrets_of
from autograder.authoring.release import Source, refuse_wheel
from autograder.authoring.rungs import FILE as RUNGS
from autograder.checks.reference import Reference, read_reference
from autograder.errors import KitError
from autograder.grading.journal import exercise_hash
from autograder.sandbox import Zygote
from autograder.values.exercise import EXAMPLES, MISTAKE_COSTS, read_exercise
from support.broken.case import NAME, ROOT, Work
from support.copied_exercise import copy_exercise
from support.typed_commands import attn
from support.written_exercise import changed

pytestmark = pytest.mark.slow  # exercises built, released and graded again and again

SOLUTIONS = ROOT / "solutions"
SHARED = SOLUTIONS / "_attention"
EXERCISES = sorted(path.parent.name for path in SOLUTIONS.glob("*/exercise.toml"))
FILES = sorted(path.name for path in SHARED.glob("*.py"))
MODULES = {"mistakes.py", "layers.py"}
# A line of each shared file that computes something.
LINES = {
    "mistakes.py": "return attention_weights.swapaxes(-2, -1) @ values",
    "layers.py": "return self.attend(x, root=math.sqrt(x.shape[-1]))",
    "checks.py": "student(draw(self.vectors), draw(self.vectors)).agrees()",
    "walkthrough.py": "shares = np.round(powers / total + 1e-9, 2)",
    "variants.py": "return (attention_scores.mT / math.sqrt(head_dim)).mT",
}


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    """A folder of solutions with the NumPy exercise, and what it shares beside it."""
    copy_exercise(NAME, tmp_path / "solutions")
    return tmp_path / "solutions"


# --- the hash -----------------------------------------------------------------------------------


def test_a_change_of_any_file_of_its_own_or_shared_changes_the_hash_of_the_exercise(
    solutions: Path,
) -> None:
    """Under another hash everybody is judged anew, as test_report shows with a run."""
    seen = [exercise_hash(solutions / NAME)]
    files = [path for path in sorted(solutions.rglob("*")) if path.is_file()]
    assert {path.name for path in files} > {*FILES, "exercise.toml", "graders.py"}
    for path in files:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        seen.append(exercise_hash(solutions / NAME))
    (solutions / "_attention" / "more").mkdir()
    (solutions / "_attention" / "more" / "words.py").write_text("", encoding="utf-8")
    seen.append(exercise_hash(solutions / NAME))
    # What mistakes cost a model, and help that a learner asks for, decide no verdict.
    for name in (MISTAKE_COSTS, RUNGS):
        (told,) = (path for path in files if path.name == name)
        place = files.index(told)
        assert seen[place] == seen[place + 1]
    assert len(set(seen)) == len(files) + 2 - 2


def test_what_another_exercise_has_to_itself_is_no_part_of_the_hash(solutions: Path) -> None:
    before = exercise_hash(solutions / NAME)
    for other in ("another", "__pycache__"):
        (solutions / other).mkdir()
        (solutions / other / "graders.py").write_text("", encoding="utf-8")
    assert exercise_hash(solutions / NAME) == before


# --- the search for leaks -----------------------------------------------------------------------


@pytest.mark.parametrize("name", EXERCISES)
def test_the_code_of_every_shared_file_is_a_secret_of_every_exercise(name: str) -> None:
    files = {
        secret.place.rsplit(":", 1)[0] for secret in secrets_of(read_exercise(SOLUTIONS / name))
    }
    assert {str(SHARED / file) for file in FILES} <= files


def test_an_exercise_whose_worked_examples_tell_a_shared_line_is_not_built(solutions: Path) -> None:
    title = '"""every row of scores becomes weights that sum to 1"""'
    changed(solutions / NAME, ("graders.py", title, f"'''{LINES['mistakes.py']}'''"))
    run = attn("build", solutions, folder=ROOT)
    assert run.code == 2, run.out
    assert "a line of mistakes.py is in a file for students" in run.err
    assert EXAMPLES in run.err and "_attention/mistakes.py" in run.err
    assert not (solutions.parent / "assignments").exists()


@pytest.mark.parametrize("file", FILES)
def test_no_shared_line_goes_out_with_a_release_or_a_wheel(file: str) -> None:
    assert LINES[file] in (SHARED / file).read_text(encoding="utf-8"), "name another line"
    source = Source(SOLUTIONS, ROOT / "assignments")
    told = f"a line of {file} is in a file for students"
    with pytest.raises(KitError, match=re.escape(told)):
        refuse_leaks(source.secrets, {"handout/notes.md": LINES[file].encode()})
    with pytest.raises(KitError, match=re.escape(told)):
        refuse_wheel(source, "kit.whl", {"autograder/more.py": LINES[file]})


def test_a_wheel_with_the_shared_folder_in_it_is_not_handed_out() -> None:
    source = Source(SOLUTIONS, ROOT / "assignments")
    for path in ("autograder/assignments/_attention/words.py", "solutions/_attention/words.py"):
        with pytest.raises(KitError, match="would be in the kit's wheel"):
            refuse_wheel(source, "kit.whl", {path: ""})


# --- what a worker must not read ----------------------------------------------------------------


def test_a_worker_is_seen_to_be_denied_the_shared_folder(solutions: Path) -> None:
    exercise = read_exercise(solutions / NAME)
    assert exercise.secret_folders == (solutions / NAME, solutions / "_attention")
    with Zygote(exercise.library, exercise.limits, secrets=exercise.secret_folders) as zygote:
        tried = {each.tried: each.ended for each in zygote.measured.trials}
    for folder in exercise.secret_folders:
        assert tried[f"read {folder}"] != "done", tried


def test_shared_code_on_the_import_path_stays_hidden_from_a_submission(
    solutions: Path, tmp_path: Path
) -> None:
    """Packages on the path are shown to workers; the folder looks as if it held one."""
    shared, graded = solutions / "_attention", tmp_path / "class"
    for folder in (shared / "mistakes-1.dist-info", graded):
        folder.mkdir()
    first = "### BEGIN SOLUTION\n"
    reads = f"    open({str(shared / 'mistakes.py')!r}).read()\n"
    reference = (solutions / NAME / "solution.py").read_text(encoding="utf-8")
    thief = reference.replace(f"    {first}", reads, 1)
    assert thief != reference
    Work(graded).write(thief, "thief.py")
    Work(graded).write(reference, "honest.py")
    command = ("grade", graded, "--exercise", NAME, "--solutions", solutions, "--processes", 1)
    run = attn(*command, folder=ROOT, PYTHONPATH=f"{ROOT}:{ROOT / 'tests'}:{shared}")
    assert run.code == 0, run.said
    points = dict(re.findall(r"^(honest|thief) .* (\d+)/22", run.out, re.MULTILINE))
    assert points == {"honest": "22", "thief": "20"}, run.out


# --- what is beside an exercise, and what is no exercise ----------------------------------------


def test_an_exercise_without_its_shared_folder_says_what_to_copy(
    solutions: Path, tmp_path: Path
) -> None:
    (solutions / "_attention").rename(tmp_path / "elsewhere")
    Work(tmp_path).write("x = 1\n", "ada.py")
    for command in (("build", solutions), ("verify", solutions, "--seeds", 1)):
        run = attn(*command, folder=ROOT)
        assert run.code == 2 and "Traceback" not in run.err
        fact, place, cure, *_ = run.err.splitlines()  # a second file may be missing, too
        missing = r"_attention/\w+\.py is missing, which numpy_single_head shares"
        assert re.search(missing, fact), fact
        assert place.endswith(str(solutions))
        assert "copy the folder _attention there" in cure


def test_the_shared_folder_is_no_exercise(solutions: Path) -> None:
    built = attn("build", solutions, folder=ROOT)
    assert built.code == 0, built.err
    assert [line.split(":")[0] for line in built.out.splitlines()] == [NAME]
    refused = attn("verify", solutions, "--exercise", "_attention", folder=ROOT)
    assert refused.code == 2 and "there is no exercise '_attention'" in refused.err
    assert f"use one of: {NAME}" in refused.err
    public = (solutions.parent / "assignments" / NAME / "exercise.toml").read_text("utf-8")
    assert "words" not in tomllib.loads(public)


# --- nothing stands in the shared folder in vain ------------------------------------------------


def test_every_shared_mistake_is_taken_by_two_exercises() -> None:
    defined = set()
    for module in sorted(MODULES):
        text = (SHARED / module).read_text(encoding="utf-8")
        kind = r"^    def (\w+)\((?!self)" if module == "mistakes.py" else r"^class ([a-z]\w+):"
        defined |= set(re.findall(kind, text, re.MULTILINE)) - {"decorated"}
    texts = [(SOLUTIONS / name / "misconceptions.py").read_text("utf-8") for name in EXERCISES]
    taken = Counter(
        name for text in texts for name in set(re.findall(r"\b(?:[A-Z]\w+|layers)\.(\w+)", text))
    )
    assert len(defined) >= 45
    assert {name: taken[name] for name in defined if taken[name] < 2} == {}


@pytest.mark.parametrize("name", EXERCISES)
def test_every_word_of_an_exercise_is_asked_for(name: str) -> None:
    reference: Reference = read_reference(SOLUTIONS / name)
    asked = {
        field
        for known in reference.misconceptions
        for _, field, _, _ in string.Formatter().parse(known.wrong.__doc__)
        if field
    }
    unused = set(reference.exercise.words) - asked - {word.lower() for word in asked}
    assert not unused


def test_every_shared_way_to_write_a_step_is_part_of_a_variant() -> None:
    """One whose name is no step of any exercise would be left out without a word."""
    text = (SHARED / "variants.py").read_text(encoding="utf-8")
    defined = re.findall(r"^(?:class|    def) (\w+)", text, re.MULTILINE)
    taken = [
        step.__qualname__
        for name in EXERCISES
        for variant in read_variants(read_harness(SOLUTIONS / name))
        for step in variant.steps.values()
        if step.__module__ == "_attention_variants"
    ]
    classes = {qualified.split(".")[0] for qualified in taken}
    assert len(set(taken)) + len(classes) == len(defined) >= 45
