"""What the stretch steps say by hand is what their reference computes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from autograder.checks.reference import read_reference

FOLDER = Path(__file__).resolve().parents[2] / "solutions" / "stretch_steps"
PROSE = (FOLDER / "solution.py").read_text(encoding="utf-8")
# The few lines above each step in the script, with one space between any two words.
BRIEF = re.compile(r'^# %% \[markdown\] active="py"\n((?:#.*\n)+)', re.MULTILINE)
BRIEFS = " ".join("".join(BRIEF.findall(PROSE)).replace("\n#", " ").split())


@pytest.fixture(scope="module")
def steps() -> ModuleType:
    return read_reference(FOLDER).module


def test_the_spreads_of_two_pairs(steps: ModuleType) -> None:
    queries, keys = torch.tensor([[1.0, 2], [1, 1]]), torch.tensor([[3.0, 2], [-1, 1]])
    assert "$q = (1, 2)$ and $k = (3, 2)$, the other $q = (1, 1)$ and $k = (-1, 1)$" in PROSE
    first, second = steps.measure_spread(queries, keys).tolist()
    assert rf"the spread is $\sqrt{{(9 + 1) / 2}} \approx {first:.2f}$" in PROSE
    assert rf"the spread is $\sqrt{{49 / 2}} \approx {second:.2f}$" in PROSE
    partial = (queries * keys).cumsum(dim=1)
    assert partial.T.tolist() == [[3, -1], [7, 0]]
    assert "With width 1 the dot products are $3$ and $-1$" in PROSE
    assert "With width 2 they are $7$ and $0$" in PROSE
    assert f"√((9 + 1) / 2) = {first:.2f}. With both numbers they are 7 and 0" in BRIEFS
    assert f"with the spread {second:.2f}." in BRIEFS


def test_the_mask_of_two_sentences(steps: ModuleType) -> None:
    sentences = ["the cat slept", "it was very tired indeed"]
    lengths = torch.tensor([len(sentence.split()) for sentence in sentences])
    assert f"`num_tokens = 5`, the lengths `{tuple(lengths.tolist())}`" in PROSE
    for sentence, row in zip(sentences, steps.create_padding_mask(lengths, 5).tolist()):
        assert f"# | {sentence} | {' | '.join(map(str, row))} |\n" in PROSE
        assert f"{sentence} {' '.join(map(str, row))}" in BRIEFS


def test_the_shares_with_and_without_padding(steps: ModuleType) -> None:
    scores, mask = torch.tensor([[[0.0, 0, 7]]]), torch.tensor([[True, True, False]])
    assert "The scores of one query are $(0, 0, 7)$ and the last place is padding." in PROSE
    seen = ", ".join(f"{share:.3f}" for share in scores.softmax(dim=-1).flatten())
    assert f"takes nearly everything: $({seen})$" in PROSE
    hidden = steps.hide_padding(scores, mask)
    assert hidden.flatten().tolist() == [0, 0, -math.inf]
    shares = ", ".join(f"{share:g}" for share in hidden.softmax(dim=-1).flatten())
    assert f"With it, the row is $(0, 0, -\\infty)$ and the shares are $({shares})$." in PROSE
    assert f"It would take nearly all: ({seen})." in BRIEFS
    assert f"With negative infinity in its place, the shares are ({shares})." in BRIEFS


def test_a_row_without_anything_to_see_has_no_softmax(steps: ModuleType) -> None:
    nothing = steps.hide_padding(torch.zeros(1, 1, 3), torch.zeros(1, 3, dtype=torch.bool))
    assert nothing.softmax(dim=-1).isnan().all()
