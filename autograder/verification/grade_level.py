"""The grade level of a text (the years of school that it takes), by Flesch and Kincaid's formula.

It is 0.39 times the words per sentence, plus 11.8 times the syllables per word, minus 15.59. The
formula was made for prose. But code is read at a glance, and there is no easier word for a term
that is being taught. So a piece of code or a term counts as a word of at most two syllables, which
is still more than the average of the words around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Terms of arithmetic, arrays and Python with three syllables or more. An exercise's other terms
# are taken from its titles and signatures.
TERMS = frozenset(
    """
    argument attribute average contiguous deviation diagonal dimension distribution exponential
    exponentiate generator gradient infinite infinity initialize library logarithm maximum memory
    multiply negative operator optimizer parameter positive precision transformer variance
    """.split()
)
MOST_SYLLABLES = 2  # that a term or a piece of code counts
CODE = re.compile(r"`[^`]*`|\$\$[^$]*\$\$|\$[^$]*\$")
_ITEM = r"[\w.]+(?: ?[*+=/-] ?[\w.]+)*"
# (B, S, D), (B=2, S=5), [0, 1, 2]: several names or numbers in brackets.
SHAPE = re.compile(rf"[(\[]{_ITEM}(?:, {_ITEM})+[)\]]")
SENTENCE = re.compile(r"[.!?]+[\"”)]*(?:\s+|$)|\n\n")
TOKEN = re.compile(r"[^\W_](?:[\w.=/*'’]*\w)?|[\w.=/*'’]*\w")
WORD = re.compile(r"[A-Z]?[a-z]+(?:['’][a-z]+)?")
_VOWELS = re.compile(r"[aeiouy]+")
_SUFFIXES = ("", "s", "es", "d", "ed", "ing", "'s", "’s")
# Corrections for words whose groups of vowels are not their syllables.
_CORRECTIONS = (
    (re.compile(r"(?<![aeiouy])e$(?<![^aeiouyr]le)"), -1),  # whole, but: little
    (re.compile(r"(?<![aeiouytd])ed$"), -1),  # masked, but: added
    (re.compile(r"(?<![aeiouysxzcg])(?<![cs]h)es$(?<![^aeiouy]les)"), -1),  # makes, but: sizes
    (re.compile(r"^(?:every|some|else)[a-z]"), -1),  # something, everything
    (re.compile(r"(?<![tcs])i(?:a|o|en)|ay[aeio]|[aeo]ing$|^creat|^whoe"), +1),  # bias, layer
)


@dataclass(frozen=True)
class Reading:
    """The counts of a text: words, syllables, sentences and the longest sentence."""

    words: int
    syllables: int
    sentences: int
    longest: int  # the words of the longest sentence

    @property
    def grade(self) -> float:
        """The grade level; 0 for a text without words."""
        if not self.words:
            return 0.0
        return 0.39 * self.words / self.sentences + 11.8 * self.syllables / self.words - 15.59


def reading(text: str, terms: Collection[str] = ()) -> Reading:
    """Count what is in `text`; `terms` are taught by the exercise and count like `TERMS`."""
    plain = SHAPE.sub("x_y", CODE.sub("x_y", text))
    sentences = [found for part in SENTENCE.split(plain) if (found := TOKEN.findall(part))]
    syllables = (_syllables(token, terms) for tokens in sentences for token in tokens)
    lengths = [len(tokens) for tokens in sentences]
    return Reading(sum(lengths), sum(syllables), len(lengths), max(lengths, default=0))


def _syllables(token: str, terms: Collection[str]) -> int:
    word = token.lower()
    if len(word) == 1:
        return 1
    if not WORD.fullmatch(token) or not _VOWELS.search(word):  # head_dim, Wqkv
        return MOST_SYLLABLES
    count = syllables_of(word)
    bare = {word.removesuffix(suffix) for suffix in _SUFFIXES}
    taught = count > MOST_SYLLABLES and any(each in terms or each in TERMS for each in bare)
    return MOST_SYLLABLES if taught else count


def syllables_of(word: str) -> int:
    """Return the number of syllables of an English word, estimated from its letters."""
    letters = re.sub(r"['’]s$|['’]", "", word.lower())
    found = len(_VOWELS.findall(letters))
    found += sum(by for pattern, by in _CORRECTIONS if pattern.search(letters))
    return max(1, found)
