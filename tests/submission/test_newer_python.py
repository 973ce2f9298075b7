"""Code for a newer Python than the grader's is told from code that no Python reads."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from autograder.submission.newer_python import (
    in_older_words,
    needed_python,
    needs_version,
    version_in,
)
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import read_exercise

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
STEPS = {"softmax"}
NESTED = "def softmax(x):\n    d = {'a': 1}\n    print(f'{d['a']}')\n    return x"
older = pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")

NEW = {
    "the same quote inside": NESTED,
    "a backslash inside": "def softmax(x):\n    return f\"{'\\n'.join(x)}\"",
    "a comment inside": "def softmax(x):\n    return f'''{\n    x  # mine\n    }'''",
    "a format with a value": "def softmax(x):\n    return f'{x[':']!r:{x['w']}>{2}}' 'b'",
    "one inside one": "def softmax(x):\n    return f'{f'{f'{x}'}'}'",
    "what shows its own text": "def softmax(x):\n    return f'{x['a'] = }'",
    "the name of a type": "type Array = list[int]\ndef softmax(x: Array):\n    return x",
    "parameters of types": "def softmax[T: list[int]](x: T) -> T:\n    return x",
}
WRONG = {
    "a bracket that is open": "def softmax(x):\n    return (x",
    "an open bracket beside it": f"{NESTED} + (",
    "a broken expression inside": "def softmax(x):\n    return f'{d['a'] +}'",
    "nothing inside": "def softmax(x):\n    return f'{}'",
    "a text that does not end": "def softmax(x):\n    return f'{d['a']}",
    "an old print": "def softmax(x):\n    print x",
    "an old except": "def softmax(x):\n  try:\n    pass\n  except A, e:\n    return x",
    "no definition": "print(f'{d['a']}')",
    "a definition that nobody uses": NESTED.replace("softmax", "mine"),
}


@older
@pytest.mark.parametrize("text", NEW.values(), ids=NEW)
def test_what_only_a_newer_python_reads_needs_it(text: str) -> None:
    assert needed_python([text], STEPS, None) == (3, 12)
    assert needed_python([text], STEPS, (3, 13)) == (3, 12)


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_no_python_reads_needs_no_newer_one(text: str) -> None:
    assert needed_python([text], STEPS, None) is None


@older
def test_who_says_that_it_ran_with_an_older_python_needs_no_newer_one() -> None:
    assert needed_python([NESTED], STEPS, (3, 11)) is None


@older
def test_what_a_step_uses_counts_too() -> None:
    mine = NESTED.replace("softmax", "mine")
    assert needed_python([mine, "def softmax(x):\n    return mine(x)"], STEPS, None) == (3, 12)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads it")
def test_what_looks_like_python_2_needs_a_word_of_the_notebook() -> None:
    assert needed_python([WRONG["an old except"]], STEPS, (3, 14)) == (3, 14)


def test_a_text_that_is_made_to_be_slow_is_given_up() -> None:
    texts = ("f'{" * 6_000, "'''\\" * 5_000, "f'{(" * 4_000 + ")}'" * 900, "f'''{'''\\" * 2_000)
    for text in texts:
        started = time.process_time()
        needed_python([f"def softmax(x):\n    {text}"], STEPS, None)
        in_older_words(text[:20_000])
        assert time.process_time() - started < 4


def read(folder: Path, version: str) -> Submission:
    source = {"cell_type": "code", "source": NESTED}
    facts = {"cells": [source], "metadata": {"language_info": {"version": version}}}
    (folder / f"{NAME}.ipynb").write_text(json.dumps(facts))
    exercise = read_exercise(ROOT / "assignments" / NAME)
    return read_submission(folder / f"{NAME}.ipynb", exercise, "anna")


@older
def test_a_notebook_says_with_which_python_it_was_saved(tmp_path: Path) -> None:
    newer, same = read(tmp_path, "3.12.4"), read(tmp_path, "3.11.9")
    assert (newer.needs, same.needs) == ("3.12", "")
    assert newer.code_hash != same.code_hash, "what was judged of one is not the other's verdict"


@pytest.mark.parametrize("facts", [{}, [], {"metadata": 1}, {"metadata": {"language_info": []}}])
def test_a_notebook_that_says_nothing_of_it_is_read_all_the_same(facts: object) -> None:
    assert version_in(facts) is None


OLD = {
    "formats, masks and what shows itself": "f\"{x:#x} {x!r:>{2}} {{#}} {x != 1} {x = } {d['a']}\"",
    "a raw pattern": "rf'\\d{x}' + f'\\n{x}' + f'it\\'s {x}'",
    "three quotes around one": 'f"""{d[\'a\']} "and" {\n x}"""',
    "a docstring about them": 'def f():\n    """type A = 1, def g[T](x), f\'{d[\'a\']}\' """\n',
    "a comment about them": "x = 1  # def g[T](x): f'{d['a']}'",
    "a variable of that name": "type = 1\ntype(x)[0] = 2",
}


@pytest.mark.parametrize("text", NEW.values(), ids=NEW)
def test_whoever_has_the_newer_python_is_told_which_one_it_takes(text: str) -> None:
    assert needs_version(text) == (3, 12)


@pytest.mark.parametrize(
    "text", [each for each in (*WRONG.values(), *OLD.values()) if "f'{d['a']}')" not in each]
)
def test_what_an_older_python_reads_or_none_at_all_takes_no_newer_one(text: str) -> None:
    assert needs_version(text) is None


def test_no_source_of_the_kit_takes_a_newer_one() -> None:
    for file in (ROOT / "autograder" / "submission").glob("*.py"):
        assert needs_version(file.read_text(encoding="utf-8")) is None, file
