"""The proof of the graders holds, and a grader that is weakened on purpose breaks it, in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from autograder.authoring.harness import (
    Harness,
    Variant,
    read_harness,
    read_variants,
    refusals,
)
from autograder.authoring.proof import (
    FIRST_SEED,
    kill_matrix,
    on_many_inputs,
    seeds_for_mistakes,
)
from autograder.authoring.run import in_processes
from autograder.checks.standing import PROPERTIES
from autograder.errors import KitError
from autograder.grading import grader_pool
from autograder.grading.watched_process import usable_cores
from support.copied_exercise import copy_exercise
from support.fifth_exercise import fifth_exercise
from support.processes import left_in, wait_for, working_in
from support.written_exercise import Change, changed

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
EXERCISES = sorted(path.parent.name for path in SOLUTIONS.glob("*/exercise.toml"))


def copied(name: str, folder: Path, *changes: Change) -> Path:
    """A copy of an exercise in which texts are replaced."""
    return changed(copy_exercise(name, folder), *changes)


def harness_of(folder: Path, step: str) -> Harness:
    """The harness of one step alone: its checks, and the known mistakes that are made in it."""
    whole = read_harness(folder)
    known = tuple(one for one in whole.reference.misconceptions if one.step == step)
    return Harness(replace(whole.reference, misconceptions=known), whole.checks_of(step))


ANOTHER_WIDTH = "test_scaled_at_another_width = steps.scaled_at_another_width(PUBLIC(D=11))\n"


def gaps(folder: Path, step: str) -> tuple[str, ...]:
    return kill_matrix(harness_of(folder, step)).gaps()


COMPARES_ZEROS = (
    "../_attention/checks.py",
    "student(draw(self.scores, scale=width**0.5), width).agrees()",
    "student(0 * draw(self.scores), width).agrees()",
)
SQUARE_SIZES = (
    "graders.py",
    '"draw", [{"B": 2, "S": 5, "D": 8}, {"B": 3, "S": 4, "D": 14}], indirect=True',
    '"draw", [{"B": 2, "S": 6, "D": 6}], indirect=True',
)
WRONG_BY_A_HAIR = (
    "../_attention/mistakes.py",
    "return 1 * attention_scores",
    "return attention_scores / math.sqrt(width) * 1.0002",
)
# NumPy raises the same for every wrong axis, so only numbers tell which one it is.
ONLY_AN_EXCEPTION = (
    "misconceptions.py",
    "class scale_scores:\n",
    "class scale_scores:\n    def along_another_axis(attention_scores, embedding_dimension):\n"
    '        """You join the scores along another axis.\n\n        Which one grows?\n'
    '        """\n        return np.concatenate([attention_scores, np.ones((2, 2))])\n\n',
)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            [COMPARES_ZEROS],
            "no check of scale_scores catches scores_not_scaled: write one that does, or remove "
            "the misconception",
        ),
        (
            [SQUARE_SIZES, ("graders.py", ANOTHER_WIDTH, "")],
            "no check of scale_scores catches divided_by_the_root_of_the_sequence_length",
        ),
        ([WRONG_BY_A_HAIR], "tolerances (100 are expected)"),
        (
            [ONLY_AN_EXCEPTION],
            "along_another_axis is known by the exception alone, and others may raise it too: draw "
            "inputs for a check of scale_scores on which it returns numbers, or remove the "
            "misconception",
        ),
    ],
    ids=["a comparison of zeros", "square sizes", "wrong by a hair", "only an exception"],
)
def test_a_grader_that_was_weakened_is_found(
    tmp_path: Path, changes: list[Change], told: str
) -> None:
    weak = copied("numpy_single_head", tmp_path, *changes)
    if SQUARE_SIZES in changes:
        with_its_own_sizes_only(weak, "scale_scores")
    found = gaps(weak, "scale_scores")
    assert len([gap for gap in found if told in gap]) == 1, found


@pytest.mark.slow  # PyTorch; one size for two axes is found as above
def test_a_single_head_is_found(tmp_path: Path) -> None:
    text = (SOLUTIONS / "torch_multi_head" / "graders.py").read_text(encoding="utf-8")
    weak = copied("torch_multi_head", tmp_path)
    (weak / "graders.py").write_text(one_head(text), encoding="utf-8")
    assert not any("no check of split_heads catches" in gap for gap in gaps(weak, "split_heads"))
    with_its_own_sizes_only(weak, "split_heads")
    found = gaps(weak, "split_heads")
    assert any("no check of split_heads catches" in gap for gap in found), found


def with_its_own_sizes_only(exercise: Path, step: str) -> None:
    """Else a step is asked with other sizes too, whatever its author draws."""
    off = "".join(f'{name} = "x"\n' for name in PROPERTIES)
    with (exercise / "exercise.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(f"[grading.without.{step}]\n{off}")


def one_head(graders: str) -> str:
    """Every size with one head that is as wide as the hidden size."""
    import re

    def narrowed(match: re.Match[str]) -> str:
        sizes = dict(re.findall(r'"(\w+)": (\d+)', match[0]))
        width = sizes.get("C", sizes["head_dim"])
        return (
            "{"
            + ", ".join(
                f'"{axis}": {"1" if axis == "heads" else width if axis == "head_dim" else size}'
                for axis, size in sizes.items()
            )
            + "}"
        )

    return re.sub(r'\{[^{}]*"heads"[^{}]*"head_dim"[^{}]*\}', narrowed, graders)


def test_a_mistake_that_shows_on_some_inputs_only_is_found_with_its_seed(tmp_path: Path) -> None:
    weak = copied(
        "numpy_single_head",
        tmp_path,
        (
            "../_attention/mistakes.py",
            "return 1 * attention_scores",
            "few = 4 < attention_scores.size < 1000\n"
            "        divisor = 1.0 if few and attention_scores.flat[0] > 0 else math.sqrt(width)\n"
            "        return attention_scores / divisor",
        ),
        ("graders.py", ANOTHER_WIDTH, ""),
    )
    harness = harness_of(weak, "scale_scores")
    assert kill_matrix(harness).gaps() == (), "on the exercise's own inputs it shows"
    many = on_many_inputs(harness, range(FIRST_SEED + 45, FIRST_SEED + 47))
    (escaped,) = [gap for gap in many.gaps if "catches scores_not_scaled" in gap]
    assert escaped.startswith("with seed 2000046, no check of scale_scores"), escaped
    assert (many.seeds, many.least_margin) == (2, 0.0)


def test_mistakes_are_tried_on_a_tenth_of_the_seeds_and_on_two_at_least() -> None:
    assert [len(seeds_for_mistakes(seeds)) for seeds in (1, 20, 200, 1000)] == [2, 2, 20, 100]


def test_a_refused_variant_is_found_with_its_seed() -> None:
    harness = read_harness(SOLUTIONS / "numpy_single_head")

    def scale_scores(attention_scores: object, embedding_dimension: int) -> object:
        return attention_scores

    (sentence,) = refusals(harness, [Variant("unscaled", {"scale_scores": scale_scores})], 1)[:1]
    assert sentence.startswith("the correct variant unscaled is refused by test_scaled_values")
    assert "with seed 1000000" in sentence


def test_a_variant_that_only_the_layer_around_it_shows_to_be_wrong_is_refused(
    tmp_path: Path,
) -> None:
    # The checks of the step ask for the mean alone, and the layer for the median.
    forgetful = (' if how == "mean" else np.median(x, axis=-1)', "")
    harness = read_harness(fifth_exercise(tmp_path, ("variants.py", *forgetful)))
    sentence, *_ = refusals(harness, read_variants(harness), 1)
    assert sentence.startswith("the correct variant Average is refused by test_layer with seed")


@pytest.mark.parametrize("held", ["def neither(x):", "both = None\n\n    def forward(x):"])
def test_a_variant_that_holds_something_else_than_steps_is_named(tmp_path: Path, held: str) -> None:
    harness = read_harness(fifth_exercise(tmp_path, ("variants.py", "def both(x):", held)))
    with pytest.raises(KitError, match=r"the variant Together holds .* not a step") as caught:
        read_variants(harness)
    assert "Standardize, both, center, spread" in caught.value.cure


def test_a_variant_without_a_step_is_named(tmp_path: Path) -> None:
    empty = ("variants.py", "class Together:", "class Empty:\n    pass\n\n\nclass Together:")
    harness = read_harness(fifth_exercise(tmp_path, empty))
    with pytest.raises(KitError, match="the variant Empty holds nothing"):
        read_variants(harness)


# Of grade 12; and what makes a check's own message one of 82 words.
HARD = (
    "Your implementation divides each individual score by an average that it calculates over the "
    "whole array, but every row of scores needs its own."
)
BEGINNING = (
    "The arrays and their shapes are right. "
    "Two calls with different seeds in `rng` give the same weights. "
)
LONG = "You see. " * 32


def keep_mistakes_of_the_first_step(file: Path) -> None:
    """So that the proof is short; that the checks of the other steps catch nothing is told too."""
    head, first, *_ = file.read_text(encoding="utf-8").split("\nclass ")
    file.write_text(f"{head}\nclass {first}", encoding="utf-8")


@pytest.mark.slow
def test_the_command_names_each_gap_and_exits_with_an_error(tmp_path: Path) -> None:
    copied(
        "numpy_single_head",
        tmp_path,
        ("exercise.toml", '"Why would four matrices that start', '"Four matrices that start'),
        ("exercise.toml", "be of no use to queries, keys and values?", "are of no use."),
        (
            "exercise.toml",
            "Start from ones and keep the lower triangle together with its diagonal.",
            HARD,
        ),
        ("graders.py", "Where do your random numbers come from?", LONG.strip()),
    )
    keep_mistakes_of_the_first_step(tmp_path / "numpy_single_head" / "misconceptions.py")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "autograder.cli", "verify", str(tmp_path)),
            *("--seeds", "1", "--mutants", "none"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    found = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("numpy_single_head: ") and "catches no mistake" not in line
    ]
    assert found == [
        "numpy_single_head: the first hint of initialize_weights is not a question: ask one",
        "numpy_single_head: the third hint of create_causal_mask reads at grade 12.9, and 9 is the "
        f"most (write shorter sentences and plainer words): “{HARD}”",
        "numpy_single_head: a message of a check has 82 words, and 80 are the most (say less): "
        f"“{BEGINNING}{LONG.strip()}”",
    ]


def spawned_in(folder: Path) -> set[int]:
    """The processes that work for a proof."""
    return {pid for pid, words in working_in(folder).items() if "spawn_main" in words}


@contextmanager
def proving(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A proof of hours, once its processes are at work in `folder`; killed with the block."""
    attn = Path(sys.executable).with_name("attn")
    words = ("verify", SOLUTIONS, "--exercise", "numpy_single_head", "--seeds", "100000")
    processes = min(len(usable_cores()), 3)  # for the three parts of its proof
    with subprocess.Popen(
        [attn, *words], cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as run:
        try:
            wait_for(lambda: len(spawned_in(folder)) == processes, "nothing is proved")
            yield run
        finally:
            run.kill()


@pytest.mark.slow
def test_a_proof_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    with proving(tmp_path):
        pass
    assert left_in(tmp_path) == {}


@pytest.mark.slow
def test_a_process_of_a_proof_that_is_killed_gets_a_successor(tmp_path: Path) -> None:
    with proving(tmp_path) as run:
        before = spawned_in(tmp_path)
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: spawned_in(tmp_path) - before, "nobody goes on")
        assert run.poll() is None
    assert left_in(tmp_path) == {}


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.authoring.run.usable_cores", lambda: (0,))


def test_one_that_ends_ends_the_proof_in_words(
    one_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its last try; that it has two is the business of the pool."""
    monkeypatch.setattr(grader_pool, "MOST_TRIES", 1)
    with pytest.raises(KitError, match=r"has ended before its work was done \(exit code 3\)"):
        in_processes([partial(os._exit, 3)])


def test_what_is_proved_in_another_process_is_proved_in_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_process: None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert in_processes([Path.cwd, partial(Path, "x"), Path.cwd]) == [tmp_path, Path("x"), tmp_path]
