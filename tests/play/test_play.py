"""`attn play`: a language model speaks through the learner's own layer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.learner_workspace import (
    NAME,
    REFERENCE,
    WRONG_SOFTMAX,
    limited,
    solve,
    start,
)
from support.typed_commands import typed

FIRST = "    shifted = scores"
ONE_SUM = """    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()"""
LAST = "    return exponentials / exponentials.sum(axis=-1, keepdims=True)"
RIGHT = REFERENCE[REFERENCE.index(FIRST) : REFERENCE.index(LAST)] + LAST


def test_the_model_writes_and_tells_how_good_it_is(tmp_path: Path) -> None:
    work = start(tmp_path / "work")
    solve(work)
    assert f"attn play {NAME}" in typed("check", folder=work).out
    run = typed("play", folder=work)
    assert run.code == 0, run.err
    assert run.out.endswith(f"  attn finish {NAME}\n")
    before, after = re.findall(r"JULIET:\n(O .*?)\n\n(?:And now|On 1,536)", run.out, re.DOTALL)
    assert len(before) == 102 and len(after) == 302, "bounded by characters, not by the clock"
    assert "its loss is 1.39 nats a character" in run.words, "one number for right everywhere"
    (without,) = re.findall(
        r"With plain averages it is (\d\.\d\d), and who only guesses has 4", run.words
    )
    assert 3 < float(without) < 4.17
    assert "mistake" not in run.words.partition("attn play")[0]
    more = typed("play", "--mistakes", folder=work).words
    assert "You met no mistake that has a name here" in more and "in place of 1.39" in more


def test_a_mistake_that_was_met_is_put_back(tmp_path: Path) -> None:
    work = start(tmp_path / "work")
    solve(work, NAME, RIGHT, WRONG_SOFTMAX)
    assert typed("check", "softmax", folder=work).code == 1
    solve(work)
    run = typed("play", folder=work)
    assert "Of the mistakes that you met" in run.words and "--mistakes" not in run.words
    assert "“Your softmax runs down the columns" in run.words
    assert re.search(r"The loss is \d\.\d\d in place of 1\.\d\d\. It writes:", run.words)
    solve(work, NAME, RIGHT, ONE_SUM)
    assert typed("check", "softmax", folder=work).code == 1
    solve(work)
    short, whole = (typed("play", *more, folder=work).words for more in ((), ("--mistakes",)))
    assert "runs down the columns" not in short and "divides by one sum" in short
    assert f"attn play {NAME} --mistakes what all the mistakes that you met would cost" in short
    assert "runs down the columns" in whole and "divides by one sum" in whole


TORCH = "torch_single_head"
NOT_YET = {  # in the reference: what is changed, and what is told
    "it raises": (
        *(NAME, "return project_output(", "return attention_output[0] or project_output("),
        "your layer stops with ValueError",
    ),
    "it is no Python": (
        *(NAME, "return project_output(", "return (project_output("),
        "There is no `SingleHeadAttention` yet.",
    ),
    "it gives another shape": (
        *(TORCH, "return project_output(attention_output, self.Wo)", "return attention_output"),
        "your layer gives the shape (2, 12, 10)",
    ),
    "it never ends": (
        *(TORCH, "return project_output(", "while True: pass\n        return project_output("),
        "still running after the limit of a call",
    ),
}


@pytest.mark.parametrize(("name", "old", "new", "told"), NOT_YET.values(), ids=NOT_YET)
def test_a_layer_that_is_not_there_or_not_right_is_told_in_a_sentence(
    tmp_path: Path, name: str, old: str, new: str, told: str
) -> None:
    work = start(tmp_path / "work", name)
    unwritten = typed("play", name, folder=work)
    assert unwritten.code == 2 and "is not written yet" in unwritten.err
    assert not unwritten.out
    limited(work, name, seconds_per_call=0.5)
    solve(work, name, old, new)
    run = typed("play", name, folder=work)
    # In processor time, or on a busy machine in wall time.
    err = re.sub(r"after [01]\.5 s", "after the limit of a call", run.err)
    assert run.code == 2 and told in err and "Traceback" not in err, err


def test_an_exercise_without_a_model_says_where_there_is_one(tmp_path: Path) -> None:
    work = start(tmp_path / "work", NAME, "torch_single_head")
    facts = work / "torch_single_head" / "exercise.toml"
    text, count = re.subn(r"trainings = \[\n[^\]]*\]\n", "", facts.read_text(encoding="utf-8"))
    assert count
    facts.write_text(text, encoding="utf-8")
    run = typed("play", "torch_single_head", folder=work)
    assert run.code == 2 and f"attn play {NAME}" in run.err
