"""Mutants of the reference: what is made, what counts as equal, what a survivor leads to."""

from __future__ import annotations

import ast
import inspect
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.harness import read_harness, recorded_examples
from autograder.authoring.mutant import (
    BODIES,
    EXPRESSIONS,
    NAMES,
    STATEMENTS,
    Mutant,
    mutants_of,
    rules_of,
    spread,
)
from autograder.authoring.mutant_judge import (
    Fate,
    JudgedMutant,
    MutantJudge,
    Observation,
    definitions,
    deviation,
)
from autograder.authoring.mutated_step import Found, Subject, filled, matches, words_of
from autograder.authoring.mutation_proof import (
    FILE,
    Declared,
    ProvedByMutants,
    kills_of,
    mutant_gaps,
    prove_by_mutants,
    read_declared,
    sampled_pairs,
    stale,
)
from autograder.authoring.probing import fitting_sizes
from autograder.authoring.run import mutant_table
from autograder.errors import KitError
from autograder.values.exercise import MANIFEST
from support.toy_exercise import GRADERS, toy

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
PUBLIC = GRADERS.replace("@pytest.mark.step", "@pytest.mark.public(B=2, D=3)\n@pytest.mark.step")
# Its check of `double` asks about the number 2 alone, and 2 + 2 and 2 ** 2 are 4 as well.
BLIND = PUBLIC.replace('draw("B D")', '0 * draw("B D") + 2', 1)
# The standing checks that ask about 0 as well.
WITHOUT = """
[grading.without.double]
size_1 = "to be blind"
other_precision = "to be blind"
"""


def blind_to_precision(folder: Path, graders: str) -> None:
    toy(folder, graders)
    manifest = folder / MANIFEST
    manifest.write_text(manifest.read_text(encoding="utf-8") + WITHOUT, encoding="utf-8")


def proved(folder: Path, graders: str) -> ProvedByMutants:
    blind_to_precision(folder, graders)
    return prove_by_mutants(folder, every=False)


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> ProvedByMutants:
    folder = tmp_path_factory.mktemp("strong")
    toy(folder, PUBLIC)
    return prove_by_mutants(folder, every=False)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> ProvedByMutants:
    """With a check that asks about one number."""
    return proved(tmp_path_factory.mktemp("weak"), BLIND)


def declare(folder: Path, *entries: str) -> None:
    folder.mkdir(exist_ok=True)
    text = "\n".join(f"[[survivor]]\n{entry}" for entry in entries)
    (folder / FILE).write_text(text, encoding="utf-8")


def subject_of(exercise: str, step: str) -> tuple[Subject, MutantJudge]:
    """A step of a real exercise, with the kinds of value that its own checks show."""
    harness = read_harness(SOLUTIONS / exercise)
    judge = MutantJudge(harness, step, recorded_examples(SOLUTIONS / exercise))
    return judge.subject(definitions(harness)[step]), judge


@pytest.fixture(scope="module")
def softmax() -> tuple[Subject, MutantJudge]:
    return subject_of("numpy_single_head", "softmax")


def fate_of(judge: MutantJudge, subject: Subject, kind: str, new: str) -> JudgedMutant:
    """The one mutant of a kind whose new lines hold a text, judged."""
    found = [each for each in mutants_of(subject) if each.kind == kind and new in each.new]
    assert found, f"there is no mutant {kind!r} with {new!r}"
    judged = judge.judged(found[0], naming=False)
    assert judged
    return judged


def test_changes_are_made_where_the_reference_has_such_a_value(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    made = {(each.kind, each.new) for each in mutants_of(softmax[0])}
    for kind, new in (
        ("axis", "shifted = scores - scores.max(axis=-2, keepdims=True)"),
        ("keepdims", "shifted = scores - scores.max(axis=-1)"),
        ("operator", "shifted = scores + scores.max(axis=-1, keepdims=True)"),
        ("call dropped", "exponentials = shifted"),
        ("in place", "shifted = scores.__isub__(scores.max(axis=-1, keepdims=True))"),
        ("another call", "exponentials = np.exp2(shifted)"),
    ):
        assert (kind, new) in made


def fitting(pattern: str, code: str) -> list[Found]:
    """The ways in which a pattern of an expression fits."""
    wanted, node = (ast.parse(text, mode="eval").body for text in (pattern, code))
    return list(matches(wanted, node, {}))


def test_a_word_with_a_star_is_any_number_of_arguments() -> None:
    found = fitting("F(*P, A, *Q)", "where(mask, scores, low)")
    assert [ast.unparse(each["A"]) for each in found] == ["mask", "scores", "low"]
    assert [len(each["P"]) for each in found] == [0, 1, 2]
    texts = [ast.unparse(filled("F(A, *P, *Q)", each)[0]) for each in found]
    assert texts[2] == "where(low, mask, scores)"


def test_a_word_that_comes_twice_is_the_same_code() -> None:
    assert fitting("A @ A", "x @ x") and not fitting("A @ A", "x @ y")


def test_the_name_of_an_attribute_can_be_a_word_and_gets_a_new_ending() -> None:
    (found,) = fitting("O.NAME", "self.heads")
    assert ast.unparse(filled("O.NAME_ = 3", found)[0]) == "self.heads_ = 3"


def test_every_rule_can_be_read_and_its_words_are_known() -> None:
    for rule in rules_of(EXPRESSIONS) + rules_of(STATEMENTS, "BEFORE\n") + rules_of(BODIES):
        known = set().union(*(words_of(ast.unparse(each)) for each in rule.pattern))
        unknown = set().union(*map(words_of, rule.results)) - known - {*NAMES, "X", "NOTHING"}
        assert not unknown, rule


def test_mutants_come_in_the_same_order_each_time_and_differ_from_the_step(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    first, second = mutants_of(softmax[0]), mutants_of(softmax[0])
    assert first == second
    texts = [each.text for each in first]
    assert len(texts) == len(set(texts)) > 50
    assert ast.unparse(softmax[0].tree) not in texts


def test_the_step_itself_stays_as_it_is(softmax: tuple[Subject, MutantJudge]) -> None:
    before = ast.unparse(softmax[0].tree)
    mutants_of(softmax[0])
    assert ast.unparse(softmax[0].tree) == before


def test_a_selection_has_some_of_every_kind(softmax: tuple[Subject, MutantJudge]) -> None:
    made = mutants_of(softmax[0])
    chosen = spread(made, 2)
    assert {each.kind for each in chosen} == {each.kind for each in made}
    assert all(sum(each.kind == kind for each in chosen) <= 2 for kind in {e.kind for e in made})


def test_what_is_wrong_is_killed_and_what_is_equal_is_not_judged(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    subject, judge = softmax
    wrong = fate_of(judge, subject, "axis", "sum(axis=-2")
    assert (wrong.fate, wrong.public) == (Fate.KILLED, True)
    assert "test_softmax_values" in wrong.caught_by
    equal = fate_of(judge, subject, "axis", "scores.max(axis=2, keepdims=True)")
    assert equal.fate is Fate.EQUIVALENT
    assert (equal.caught_by, equal.shown_by) == ((), "")


def test_a_smaller_dtype_within_the_tolerance_is_accepted(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    subject, judge = softmax
    judged = fate_of(
        judge, subject, "dtype", "exponentials.sum(axis=-1, keepdims=True)).astype(np.f"
    )
    assert judged.fate is Fate.ACCEPTED, judged.shown_by


def test_memory_between_calls_is_shown_by_a_call_with_other_inputs_first(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    judged = fate_of(softmax[1], softmax[0], "first result kept", "_kept")
    assert judged.shown_by.startswith("calls before, other inputs first: values off by")


def aspects(folder: Path, step: str) -> set[str]:
    """What is looked at where a mutant of the step is compared with the step."""
    judge = MutantJudge(read_harness(folder), step, recorded_examples(folder))
    return {probe.aspect for probe, _ in judge.expected}


def test_no_probe_looks_at_what_a_step_is_not_held_to(tmp_path: Path) -> None:
    blind_to_precision(tmp_path, PUBLIC)
    assert "dtypes" in aspects(tmp_path, "halve")
    assert "dtypes" not in aspects(tmp_path, "double")


@pytest.mark.slow
def test_no_probe_looks_at_gradients_that_a_step_is_not_held_to() -> None:
    folder = SOLUTIONS / "stretch_steps"
    assert aspects(folder, "hide_padding") >= {"gradients", "dtypes"}
    assert not aspects(folder, "measure_spread") & {"gradients", "dtypes"}


def test_a_pair_changes_two_places_and_is_drawn_alike_each_time(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    subject, judge = softmax
    pairs, again = (
        tuple(sampled_pairs(subject, mutants_of(subject), 5, judge.subject)) for _ in range(2)
    )
    assert pairs == again
    assert all(" and " in pair.kind for pair in pairs) and pairs


def test_a_survivor_is_a_gap_that_says_what_tells_it_apart(
    strong: ProvedByMutants, weak: ProvedByMutants
) -> None:
    assert not any("double, operator" in gap for gap in strong.gaps)
    assert any(
        re.match(
            r"no check sees this mutant: double, operator: `return 2 \* x` -> .*values off by", gap
        )
        for gap in weak.gaps
    ), weak.gaps


def test_checks_that_students_do_not_get_make_a_gap(tmp_path: Path) -> None:
    hidden = GRADERS.split("\n\n\n")[1]
    secret = hidden.replace("def test_double", "def test_double_again")
    gaps = proved(tmp_path, f"{BLIND}\n\n{secret}").gaps
    assert any(gap.startswith("the public checks kill only") for gap in gaps), gaps


def test_a_declared_survivor_is_no_gap_and_one_that_is_killed_or_gone_is_one(
    tmp_path: Path, weak: ProvedByMutants
) -> None:
    declare(
        tmp_path,
        'step = "double"\nkind = "operator"\nreason = "nobody looks at its values"',
        'step = "halve"\nkind = "operator"\nnew = "return x * 2"\nreason = "it was so once"',
    )
    after = proved(tmp_path, BLIND)
    assert not any("this mutant: double, operator" in gap for gap in after.gaps)
    assert after.figures.declared == weak.figures.survivors - after.figures.survivors > 0
    gone = "the declared survivor is none any more: halve, operator, new 'return x * 2'"
    assert gone in after.gaps


def test_an_entry_is_not_stale_while_a_mutant_that_it_matches_was_not_judged() -> None:
    one, other = (Mutant("double", "operator", "a", new, new) for new in ("b", "c"))
    family = Declared("double", "operator", "all of them are harmless")
    killed = JudgedMutant(one, Fate.KILLED)
    assert stale([family], [killed], [one, other]) == ()
    assert stale([family], [killed], [one]) == (family,)


@pytest.mark.parametrize(
    ("entry", "fact"),
    [
        ('step = "double"\nkind = "operator"', "has no reason"),
        ('step = "double"\nkind = "operator"\nreason = " "', "has no reason"),
        ('step = "double"\nkind = "operator"\nreason = "so"\nline = 3', "cannot have line"),
    ],
)
def test_an_entry_without_a_reason_or_with_a_line_is_refused(
    tmp_path: Path, entry: str, fact: str
) -> None:
    declare(tmp_path, entry)
    with pytest.raises(KitError, match=fact):
        read_declared(tmp_path)


def test_other_sizes_keep_what_the_axes_have_to_do_with_each_other() -> None:
    found = fitting_sizes(
        [
            {"B": 2, "S": 5, "C": 24, "heads": 4, "head_dim": 6},
            {"B": 2, "S": 4, "C": 8, "heads": 2, "head_dim": 4},
            {"B": 4, "S": 7, "C": 10, "heads": 2, "head_dim": 5},
        ]
    )
    assert all(sizes["C"] == sizes["heads"] * sizes["head_dim"] for sizes in found)
    for axis in ("B", "S", "heads", "head_dim"):
        assert any(sizes[axis] == 1 for sizes in found), axis
    assert {"B": 4, "S": 4, "C": 16, "heads": 4, "head_dim": 4} in found


def test_one_axis_may_be_a_multiple_of_another() -> None:
    known = [{"B": 2, "S": 5, "C": 12, "head_dim": 3}, {"B": 2, "S": 5, "C": 8, "head_dim": 2}]
    assert all(sizes["C"] == 4 * sizes["head_dim"] for sizes in fitting_sizes(known))


def seen(value: np.ndarray, **facts: object) -> Observation:
    return replace(Observation(value=value, kinds=str(value.dtype)), **facts)  # type: ignore[arg-type]


def test_rounding_is_no_deviation_and_another_dtype_is_a_mild_one() -> None:
    right = np.linspace(-1.0, 1.0, 5)
    assert deviation(seen(right * (1 + 1e-15)), seen(right), "values") is None
    mild = deviation(seen(right.astype(np.float32)), seen(right), "values")
    assert mild and mild.mild
    strong = deviation(seen(right + 0.01), seen(right), "values")
    assert strong and not strong.mild


def test_a_strong_deviation_goes_before_a_mild_one() -> None:
    right = np.linspace(-1.0, 1.0, 5)
    found = deviation(seen(right.astype(np.float32), changed=(0,)), seen(right), "values")
    assert found and found.words == "an argument is overwritten"


def test_the_kills_of_a_check_and_those_that_are_its_own_are_counted() -> None:
    mutants = [Mutant("double", "operator", "a", text, text) for text in "bcd"]
    caught = [("one",), ("one", "two"), ()]
    judged = [JudgedMutant(m, Fate.KILLED, names) for m, names in zip(mutants, caught)]
    kills = kills_of([("double", "one"), ("double", "two")], judged)
    assert [(each.check, each.kills, each.alone) for each in kills] == [
        ("one", 2, 1),
        ("two", 1, 0),
    ]


def test_the_table_of_mutants_fits_into_a_hundred_columns(strong: ProvedByMutants) -> None:
    from rich.console import Console

    from autograder.authoring.proof import Accepted, Caught
    from autograder.authoring.run import Proof

    caught = Caught(1, 1, 1, 100.0, "", ())
    proof = Proof("numpy_single_head", caught, Accepted(1, 1, ()), strong, 2.0)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(mutant_table([proof]))
    head, row = console.export_text().splitlines()[:2]
    assert head.split()[:2] == ["mutants", "of"] and head.split()[-1] == "survive"
    assert row.split()[0] == "numpy_single_head"
    assert len(row.split()) == len(head.split()) - 1


@pytest.mark.slow
def test_in_the_real_sandbox_exactly_the_mutated_step_is_lost(
    softmax: tuple[Subject, MutantJudge],
) -> None:
    subject, judge = softmax
    judged = [judge.judged(mutant, naming=False) for mutant in mutants_of(subject)[::8]]
    assert mutant_gaps(judge.harness, [each for each in judged if each], 12) == ()


def test_functions_of_the_package_have_no_list_of_steps_or_axes() -> None:
    """The engine knows no exercise."""
    import autograder.authoring as package

    folder = Path(inspect.getfile(package)).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert not re.search(r"\"(?:heads|head_dim|apply_mask|compute_attention_scores)\"", text)
