"""An author from outside writes a fifth exercise: what would grade wrong is said, or works."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.build import build
from autograder.authoring.harness import (
    read_harness,
    read_variants,
    recorded_examples,
    refused_at_home,
)
from autograder.authoring.leak import text_of
from autograder.authoring.mutation_proof import mistake_gaps, prove_by_mutants, right_answer_gaps
from autograder.authoring.proof import crossing_gaps, missing_gaps
from autograder.checks.plugin import record_examples
from autograder.checks.reference import read_reference
from autograder.checks.substitution import (
    LARGEST_ARRAY,
    LARGEST_AXIS,
    LARGEST_NUMBER,
    fitting_call,
    reference_answer,
)
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.judging.examples import examples_in, facts_in, packed
from autograder.reports.class_summary import chain_sentence, first_line
from autograder.submission.reading import read_submission
from autograder.values.exercise import EXAMPLES
from autograder.values.request import Request, Returned
from autograder.values.verdict import Outcome, Verdict
from autograder.worker.wire import Linear, Opaque, Seed, Value
from support.fifth_exercise import SOLUTION, fifth_exercise
from support.written_exercise import Change

CHAIN = "@pytest.mark.chain_of_steps"


def hidden(given: str) -> Change:
    """A check of `center` that students do not get."""
    head = '@pytest.mark.step("center")\ndef test_hidden(student, draw):\n'
    return "graders.py", CHAIN, f"{head}    student({given}).agrees()\n\n\n{CHAIN}"


def proved(folder: Path) -> tuple[str, ...]:
    harness = read_harness(folder)
    return right_answer_gaps(harness.reference.exercise, read_variants(harness))


def built(folder: Path) -> dict[str, str]:
    paths = build(folder, folder.parent.parent / "assignments", examples=record_examples)
    return {path.name: text_of(path.name, path.read_bytes()) for path in paths}


def graded(folder: Path, *codes: str) -> tuple[Verdict, ...]:
    exercise = read_reference(folder).exercise
    submissions = []
    for number, code in enumerate(codes):
        path = folder.parent.parent / f"{number}.py"
        path.write_text(code, encoding="utf-8")
        submissions.append(read_submission(path, exercise, f"student {number}"))
    return grade_batch(folder, submissions)


EMPTY = (
    "graders.py",
    CHAIN,
    '@pytest.mark.step("spread")\n@PUBLIC(B=0)\n'
    '@pytest.mark.parametrize("draw", [{"B": 0}], indirect=True)\n'
    "def test_empty(student, draw):\n"
    '    """no rows at all"""\n'
    '    student(draw("B S D")).agrees()\n\n\n' + CHAIN,
)


def error_of(folder: Path) -> KitError:
    with pytest.raises(KitError) as raised:
        built(folder)
    return raised.value


def test_a_fifth_exercise_is_built_and_its_right_answers_pass_in_the_sandbox(
    tmp_path: Path,
) -> None:
    folder = fifth_exercise(tmp_path / "solutions")
    assert EXAMPLES in built(folder)
    assert proved(folder) == ()
    harness = read_harness(folder)
    assert (*missing_gaps(harness), *crossing_gaps(harness)) == ()


def test_an_axis_of_size_0_is_built_proved_and_right_at_home(tmp_path: Path) -> None:
    folder = fifth_exercise(tmp_path / "solutions", EMPTY)
    assert EXAMPLES in built(folder)
    harness = read_harness(folder)
    assert refused_at_home(harness, read_variants(harness), recorded_examples(folder)) == ()
    assert not any("is refused" in gap for gap in prove_by_mutants(folder, every=False).gaps)


def test_the_proof_asks_the_reference_and_the_variants_what_is_written_down(
    tmp_path: Path,
) -> None:
    """What is lost on the way into the file, such as a digit, refuses right answers at home."""
    folder = fifth_exercise(tmp_path / "solutions")
    harness = read_harness(folder)
    facts = facts_in(record_examples(folder))
    for example in facts["examples"]:
        if example["check"] == "test_both":
            example["expectation"]["expected"]["items"][1] = np.array([[1.0, 2.0]])
    gaps = refused_at_home(harness, read_variants(harness), examples_in(packed(facts)))
    assert [gap.partition(" is refused")[0] for gap in gaps] == [
        "at home, the reference",
        "at home, the correct variant Together",
    ]
    assert all("by the example of test_both of both: " in gap for gap in gaps)


def test_the_cure_for_a_standing_check_is_a_property_that_can_be_switched_off(
    tmp_path: Path,
) -> None:
    """In float32, the reference gives something else."""
    rough = ("solution.py", "x.sum(axis=-1) * 2", "x.sum(axis=-1) * (x.dtype.itemsize // 4)")
    folder = fifth_exercise(tmp_path / "solutions", rough)
    cures = [each.cure for each in error_of(folder).each]
    assert len(cures) == 2  # one for each step that it shows in, and not one for each check
    for cure in cures:
        head, where, lines = re.split(r"; .* write below (\[.*?\]): ", cure)
        assert head == "correct the check or the reference"
        written = f"{where}\n" + lines.replace(", ", "\n") + "\n\n[[steps]]"
        text = (folder / "exercise.toml").read_text(encoding="utf-8")
        (folder / "exercise.toml").write_text(text.replace("[[steps]]", written, 1))
    assert EXAMPLES in built(folder)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ('{"how": "mean"}', "dict"),
        pytest.param('(lambda: "mean")', "function", marks=pytest.mark.slow),
        pytest.param('["mean"]', "list", marks=pytest.mark.slow),
    ],
)
def test_a_check_or_a_variant_that_works_in_this_process_only_is_a_gap(
    tmp_path: Path, given: str, kind: str
) -> None:
    """The check hands over what does not cross, the variant reads a file that is not there."""
    kinds = "how = how['how'] if type(how) is dict else how() if callable(how) else how"
    solution = ("solution.py", "    middle =", f"    {kinds}\n    middle =")
    listed = ("solution.py", 'how == "mean"', 'how == "mean" or how == ["mean"]')
    check = hidden(f'draw("B S D"), {given}')
    variant = (
        "variants.py",
        "class Average:",
        "from pathlib import Path\n\nTEXT = Path(__file__).read_text()\n\n\nclass Average:",
    )
    folder = fifth_exercise(tmp_path / "solutions", check, solution, listed, variant)
    harness = read_harness(folder)
    (check_itself,) = [each for each in harness.checks if each.name == "test_hidden"]
    assert harness.run(check_itself).finding is None
    found = proved(folder)
    assert any(
        gap.startswith("in the sandbox, the reference fails test_hidden of center: ")
        for gap in found
    ), found
    assert any("the variant Average fails test_center" in gap for gap in found), found
    (gap,) = crossing_gaps(harness)
    assert gap.startswith(f"the check test_hidden hands over a {kind} (argument 2)")


@pytest.mark.parametrize(("given", "kind"), [('draw("B S D").tolist()', "list"), ("{}", "dict")])
def test_a_public_check_that_hands_it_over_stops_the_build(
    tmp_path: Path, given: str, kind: str
) -> None:
    title = '"""every row is centered"""\n    student('
    change = ("graders.py", f'{title}draw("B S D"))', f"{title}{given})")
    solution = ("solution.py", "    middle =", "    x = np.zeros((2, 2, 2))\n    middle =")
    error = error_of(fifth_exercise(tmp_path / "solutions", change, solution))
    assert error.fact.startswith(f"the check test_center hands over a {kind} (argument 1)")


def test_no_text_of_a_solution_is_the_name_of_a_result(tmp_path: Path) -> None:
    files = built(fifth_exercise(tmp_path / "solutions"))
    assert '"result 1"' in files[EXAMPLES]
    assert not any("np.add" in text for text in files.values())


def test_a_call_of_a_solution_in_the_prose_is_a_leak(tmp_path: Path) -> None:
    prose = ("solution.py", "# ## Center", "# ## Center\n#\n# Try `np.add(x, 1)` first.")
    error = error_of(fifth_exercise(tmp_path / "solutions", prose))
    assert error.fact.startswith("a line of a solution (a part of it) is in a file for students")


def test_one_mistake_costs_one_step_whatever_the_steps_are_given(tmp_path: Path) -> None:
    folder = fifth_exercise(tmp_path / "solutions")
    wrong = SOLUTION.replace("    return x - middle", "    return x + middle")
    wrong_spread = SOLUTION.replace("    return first *", "    return 3 * first *")
    for verdict, step in zip(graded(folder, wrong, wrong_spread), ("center", "spread")):
        lost = [each.name for each in verdict.steps if each.outcome is not Outcome.PASSED]
        assert lost == [step], verdict.steps
        assert verdict.points == 9


def proved_of_mistakes(folder: Path) -> tuple[str, ...]:
    return mistake_gaps(read_harness(folder))


def sizes(tokens: int, width: int) -> Change:
    written = "sizes = { B = 2, S = 5, D = 3 }"
    return "exercise.toml", written, f"sizes = {{ B = 2, S = {tokens}, D = {width} }}"


@pytest.mark.parametrize("asked", [sizes(5, 3), sizes(128, 90)], ids=["small", "large"])
def test_a_hand_in_with_a_known_mistake_loses_that_step_alone(
    tmp_path: Path, asked: Change
) -> None:
    assert proved_of_mistakes(fifth_exercise(tmp_path / "solutions", asked)) == ()


def test_a_mistake_that_costs_another_step_as_well_is_a_gap_with_the_check(tmp_path: Path) -> None:
    """So large a number is nothing that the reference answers for, in the place of a wrong step."""
    large = ("solution.py", "scales=(1.0, 2.0)", "scales=(1.0, 2.0 + 3000.0 * (len(x) > 0))")
    (gap,) = proved_of_mistakes(fifth_exercise(tmp_path / "solutions", large))
    assert gap.startswith(
        "in the sandbox, a hand-in with not_rooted in spread loses Standardize as well: it fails "
        "test_layer of Standardize: "
    )


def test_a_mistake_that_shows_in_this_process_only_is_a_gap(tmp_path: Path) -> None:
    here = '"autograder.judging" in __import__("sys").modules'
    same = (
        "misconceptions.py",
        "return x\n",
        f"middle = np.mean if how == 'mean' else np.median\n"
        f"        return x - middle(x, -1, keepdims=True) * (not {here})\n",
    )
    (gap,) = proved_of_mistakes(fifth_exercise(tmp_path / "solutions", same))
    assert gap.startswith("in the sandbox, a hand-in with not_centered keeps the points of center:")


def test_a_mistake_that_cannot_be_loaded_there_is_a_gap(tmp_path: Path) -> None:
    here = (
        "misconceptions.py",
        "import numpy as np\n",
        "import numpy as np\n\nopen(__file__).close()\n",
    )
    gaps = proved_of_mistakes(fifth_exercise(tmp_path / "solutions", here))
    assert len(gaps) >= 2
    assert gaps[0].startswith("in the sandbox, a hand-in with not_centered is told otherwise: ")


BUILT_ON = (
    ("solution.py", "        return (moved", "        return self.sign * (moved"),
    ("solution.py", "        self.how = how\n", "        self.how, self.sign = how, 1\n"),
    (
        "exercise.toml",
        '[[steps]]\nname = "Standardize"',
        '[[steps]]\nname = "Again"\ntitle = "Again"\npoints = 1\nminutes = 5\nhints = []\n\n'
        '[[steps]]\nname = "Standardize"',
    ),
)
AGAIN_SOLUTION = '\n\n# %%\nclass Again(Standardize):\n    """The same."""\n'
AGAIN_CHECK = (
    '@pytest.mark.step("Again")\ndef test_again(student, draw):\n    """the layer again"""\n'
    '    student.constructed("median").call("forward", draw("B S D")).agrees()\n\n\n'
)
AGAIN_MISTAKE = '''

from autograder.checks import solution_beside


class Standardize:
    class negative(solution_beside(__file__).Standardize):
        """Your layer has the wrong sign.

        Where?
        """

        def __init__(self, how):
            self.how, self.sign = how, -1
'''


def test_what_is_wrong_with_a_class_may_cost_one_that_builds_on_it(tmp_path: Path) -> None:
    folder = fifth_exercise(
        tmp_path / "solutions", *BUILT_ON, ("graders.py", CHAIN, AGAIN_CHECK + CHAIN)
    )
    for file, added in (("solution.py", AGAIN_SOLUTION), ("misconceptions.py", AGAIN_MISTAKE)):
        (folder / file).write_text((folder / file).read_text("utf-8") + added, "utf-8")
    assert proved_of_mistakes(folder) == ()


def test_sizes_that_the_reference_does_not_answer_for_are_a_gap(tmp_path: Path) -> None:
    folder = fifth_exercise(tmp_path / "solutions", sizes(5, 2100))
    gaps = crossing_gaps(read_harness(folder))
    assert any("does not answer for in the place of spread" in gap for gap in gaps), gaps


def function(x: object, *more: object, **named: object) -> None:
    """A step whose axes nobody has named."""


WRITTEN: frozenset[float | str] = frozenset({10000.0, -1e9, "bij,bjk->bik"})
SMALL = (
    *(None, True, 3, -1, 0.5, -1e9, 10000.0, float("-inf"), "median", "bij,bjk->bik", Seed(3)),
    np.zeros((2, 0)),
)
LARGE = (
    LARGEST_NUMBER + 1,
    1 << 62,
    1e9,
    1e-9,
    "ab,cd->abcd",
    "a" * 100,
    Opaque("dict"),
    np.zeros(LARGEST_AXIS + 1),
    np.broadcast_to(0.0, (LARGEST_ARRAY // LARGEST_AXIS + 1, LARGEST_AXIS)),
    np.broadcast_to(0.0, (10, LARGEST_AXIS, 10)),
    np.zeros(2, complex),
    tuple(range(100)),
    (np.zeros((100, 60)),) * 2,
    ((1, 2), (1 << 40,)),
    (LARGEST_NUMBER, LARGEST_NUMBER - 1),
    Linear(np.zeros((LARGEST_AXIS + 1, 2)), None),
    Linear(np.zeros((1, 1)), np.zeros(1000)),
)


@pytest.mark.parametrize("value", SMALL, ids=repr)
def test_every_small_value_is_passed_on(value: Value) -> None:
    assert fitting_call(function, (value,), {"name": (value, value)}, WRITTEN)


@pytest.mark.parametrize("value", LARGE, ids=lambda value: type(value).__name__)
def test_no_large_value_is(value: Value) -> None:
    assert fitting_call(function, (value,), {}, WRITTEN) is None
    assert fitting_call(function, (1, (value,)), {}, WRITTEN) is None
    assert fitting_call(function, (1,), {"name": value}, WRITTEN) is None


def test_a_whole_number_in_an_array_is_a_number() -> None:
    found = fitting_call(function, (np.asarray(3),), {}, WRITTEN)
    assert found == ((3,), {})
    assert fitting_call(function, (np.asarray(1 << 40),), {}, WRITTEN) is None


def test_gradients_reach_tensors_in_tuples_and_keywords_by_their_names() -> None:
    torch = pytest.importorskip("torch")
    from autograder.checks.substitution import gradients

    def step(parts: tuple, mask: object, *, scale: object, shift: object) -> tuple:  # type: ignore[type-arg]
        return torch.cat(parts) * scale + shift, mask

    parts = (np.ones(2, np.float32), np.ones(2, np.float32))
    named = {"shift": np.ones(4, np.float32), "scale": np.full(4, 3, np.float32)}
    cotangents = (np.ones(4, np.float32), None)
    found = gradients(step, (parts, np.ones(4, bool)), cotangents, named)
    assert [each.tolist() for each in found] == [[3, 3], [3, 3], [1] * 4, [1] * 4]


def test_a_step_that_returns_nothing_has_nothing_to_compare(tmp_path: Path) -> None:
    step = (
        "solution.py",
        'how: str = "mean") -> Float[np.ndarray, "B S D"]:',
        'how: str = "mean") -> None:',
    )
    error = error_of(fifth_exercise(tmp_path / "solutions", step))
    assert error.fact == (
        "center is annotated as returning nothing, so there is nothing to compare"
    )


def test_without_a_check_end_to_end_there_is_a_gap_and_no_such_claim(tmp_path: Path) -> None:
    change = ("graders.py", CHAIN, "def without():\n    pass\n\n\n@pytest.mark.skip")
    folder = fifth_exercise(
        tmp_path / "solutions", change, ("graders.py", "def test_chain", "def no_chain")
    )
    (gap,) = missing_gaps(read_harness(folder))
    assert gap.startswith("no check runs the steps end to end")
    (verdict,) = graded(folder, SOLUTION)
    exercise = read_reference(folder).exercise
    assert verdict.points == 11
    assert chain_sentence(exercise, verdict) == "Every step is right."
    assert first_line(verdict) == (0, "every step is right")
    assert Verdict.from_json(verdict.to_json()).chain == verdict.chain


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('x: Float[np.ndarray, "B S D"], how', 'x: Float[np.ndarray, "B D"], how', "the shape"),
        ('x: Float[np.ndarray, "B S D"], how', 'x: Float[np.ndarray, "B D D"], how', "D has"),
        (') -> Float[np.ndarray, "B S"]:', ') -> Float[np.ndarray, "S B"]:', "S has the size 2"),
    ],
)
def test_an_annotation_that_the_arrays_contradict_stops_the_build(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    folder = fifth_exercise(tmp_path / "solutions", ("solution.py", old, new))
    assert words in error_of(folder).fact


def test_two_misconceptions_of_one_name_are_refused(tmp_path: Path) -> None:
    again = (
        '\n    def not_rooted(x, eps=1e-6, *, scales=None):\n        """You."""\n        return x\n'
    )
    inherited = f"class _Shared:{again}\n\nclass spread(_Shared):"
    changes = {
        "in spread, lines 16 and 23": (
            "        return (x * x).mean(axis=-1)\n",
            f"        return (x * x).mean(axis=-1)\n{again}",
        ),
        "of spread": ("class spread:", inherited),
        "of center and of spread": ("def not_centered(x", "def not_rooted(x"),
        "in the file, lines 6 and 15": ("class spread:", "class center:"),
    }
    for number, (words, (old, new)) in enumerate(changes.items()):
        folder = fifth_exercise(tmp_path / str(number), ("misconceptions.py", old, new))
        with pytest.raises(KitError, match="two misconceptions have the name") as raised:
            read_reference(folder)
        assert raised.value.fact.endswith(words)


def test_what_a_class_of_mistakes_inherits_is_known(tmp_path: Path) -> None:
    shared = ("misconceptions.py", "class spread:", "class _Shared:")
    folder = fifth_exercise(tmp_path, shared)
    path = folder / "misconceptions.py"
    path.write_text(path.read_text() + "\n\nclass spread(_Shared):\n    pass\n", "utf-8")
    assert [known.name for known in read_reference(folder).misconceptions] == [
        "not_centered",
        "not_rooted",
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "fact", "line"),
    [
        (
            "graders.py",
            '"""every row is centered"""\n    student(draw("B S D"))',
            '"""every row is centered"""\n    student(draw("B S Q"))',
            "the check test_center raises KeyError: 'Q'",
            "graders.py:12",
        ),
        (
            "solution.py",
            "    return x - middle",
            "    return x - middel",
            "the reference raises NameError in center: name 'middel' is not defined",
            "solution.py:17, at `return x - middel`",
        ),
        (
            "solution.py",
            "import numpy as np\n",
            "import numpy as np\n\nSIZE = 1 / 0\n",
            "solution.py cannot be run: ZeroDivisionError: division by zero",
            "solution.py:7",
        ),
        (
            "graders.py",
            "def test_both(student, draw)",
            "def test_both(student, drawn)",
            "the check test_both asks for 'drawn', which nothing gives it",
            "graders.py:22",
        ),
        (
            "graders.py",
            '@pytest.mark.step("both")',
            "@pytest.mark.step",
            "the check test_both names no step",
            "graders.py",
        ),
        (
            "graders.py",
            "def test_chain",
            "def test_both",
            "two checks have the name test_both: only the second would be run",
            "graders.py:37",
        ),
        (
            "graders.py",
            "PUBLIC = pytest.mark.public",
            "PUBLIC = pytest.mark.publik",
            "the checks cannot be collected: ",
            "graders.py",
        ),
    ],
    ids=[
        "misspelt axis",
        "reference raises",
        "solution raises",
        "misspelt fixture",
        "no step",
        "two of one name",
        "misspelt mark",
    ],
)
def test_an_author_is_told_the_exception_its_file_and_its_line(
    tmp_path: Path, file: str, old: str, new: str, fact: str, line: str
) -> None:
    folder = fifth_exercise(tmp_path / "solutions", (file, old, new))
    error = error_of(folder)
    assert error.fact.startswith(fact)
    assert error.place.endswith(line)
    assert "no fault of yours" not in str(error)


def test_a_hidden_check_with_a_misspelt_axis_is_told_by_the_proof(tmp_path: Path) -> None:
    folder = fifth_exercise(tmp_path / "solutions", hidden('draw("B S Q")'))
    harness = read_harness(folder)
    (check,) = [each for each in harness.checks if each.name == "test_hidden"]
    with pytest.raises(KitError, match="the check test_hidden raises KeyError: 'Q'") as raised:
        harness.run(check)
    assert "graders.py:" in raised.value.place
    assert any("KeyError: 'Q' (" in gap and "graders.py:" in gap for gap in proved(folder))


@pytest.mark.parametrize(
    ("file", "old", "new", "fact"),
    [
        ("exercise.toml", "points = 5", "points = -5", "Standardize is worth -5 points"),
        ("exercise.toml", 'title = "Spread"', 'title = " "', "the step spread has no title"),
        ("exercise.toml", "[grading]", "[limits]\nseconds_per_call = 0\n[grading]", "the limit"),
        ("exercise.toml", "D = 3", "D = 0", "the size of the axis D is 0 in sizes"),
        ("solution.py", "import numpy as np\n", "import numpy as np\n\nspread = 2\n", "the step"),
    ],
)
def test_a_fact_that_cannot_be_meant_stops_the_build(
    tmp_path: Path, file: str, old: str, new: str, fact: str
) -> None:
    assert error_of(fifth_exercise(tmp_path / "solutions", (file, old, new))).fact.startswith(fact)


def test_the_answer_for_an_earlier_step_is_given_for_text_and_tuples(tmp_path: Path) -> None:
    reference = read_reference(fifth_exercise(tmp_path / "solutions"))
    x = np.arange(6.0).reshape(1, 2, 3)
    assert reference_answer(reference, "center", (x, "median"), {}) is not None
    assert reference_answer(reference, "spread", (x, 1e-6), {"scales": (1.0, 2.0)}) is not None
    assert reference_answer(reference, "spread", (x, 1e-6), {"scales": (1e9, 2.0)}) is None


def test_a_check_of_the_chain_that_runs_none_is_told(tmp_path: Path) -> None:
    run = '    chain(lambda module: module.Standardize("mean").forward(x))\n'
    folder = fifth_exercise(tmp_path / "solutions", ("graders.py", run, "    assert x.size\n"))
    with pytest.raises(KitError, match="the check test_chain runs no chain"):
        proved(folder)


def test_a_whole_number_that_the_reference_makes_with_numpy_is_a_number(tmp_path: Path) -> None:
    number = ("solution.py", "    return x - middle", "    return np.prod(x.shape)")
    reference = read_reference(fifth_exercise(tmp_path / "solutions", number))
    reply = reference.expected(Request("center", (np.ones((2, 3, 4)),)))
    assert isinstance(reply, Returned)
    assert (type(reply.value), reply.value) == (int, 24)
