"""How many years of school a text takes: the grade level by the formula of Flesch and Kincaid.

0.39 times the words of a sentence, plus 11.8 times the syllables of a word, minus 15.59. It was
made for prose. Code is read at a glance, and a term that is taught has no easier word. So each
of them counts as a word of two syllables at most, more than the words around it have on average.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Terms of arithmetic, arrays and Python with three syllables or more. The other terms of an
# exercise stand in its own titles and signatures.
TERMS = frozenset(
    """
    argument attribute average contiguous deviation diagonal dimension distribution exponential
    exponentiate generator gradient infinite infinity initialize library logarithm maximum memory
    multiply negative operator optimizer parameter positive precision transformer variance
    """.split()
)
MOST_SYLLABLES = 2  # of a term, and of code
CODE = re.compile(r"`[^`]*`|\$\$[^$]*\$\$|\$[^$]*\$")
_ITEM = r"[\w.]+(?: ?[*+=/-] ?[\w.]+)*"
# (B, S, D), (B=2, S=5), [0, 1, 2]: several names or numbers in brackets.
SHAPE = re.compile(rf"[(\[]{_ITEM}(?:, {_ITEM})+[)\]]")
SENTENCE = re.compile(r"[.!?]+[\"”)]*(?:\s+|$)|\n\n")
TOKEN = re.compile(r"[^\W_](?:[\w.=/*'’]*\w)?|[\w.=/*'’]*\w")
WORD = re.compile(r"[A-Z]?[a-z]+(?:['’][a-z]+)?")
_VOWELS = re.compile(r"[aeiouy]+")
_SUFFIXES = ("", "s", "es", "d", "ed", "ing", "'s", "’s")
# Where the groups of vowels in a word are not its syllables.
_CORRECTIONS = (
    (re.compile(r"(?<![aeiouy])e$(?<![^aeiouyr]le)"), -1),  # whole, but: little
    (re.compile(r"(?<![aeiouytd])ed$"), -1),  # masked, but: added
    (re.compile(r"(?<![aeiouysxzcg])(?<![cs]h)es$(?<![^aeiouy]les)"), -1),  # makes, but: sizes
    (re.compile(r"^(?:every|some|else)[a-z]"), -1),  # something, everything
    (re.compile(r"(?<![tcs])i(?:a|o|en)|ay[aeio]|[aeo]ing$|^creat|^whoe"), +1),  # bias, layer
)


@dataclass(frozen=True)
class Reading:
    """What a text takes to read: how many words and sentences, and how long they are."""

    words: int
    syllables: int
    sentences: int
    longest: int  # sentence, in words

    @property
    def grade(self) -> float:
        """The grade level; 0 for a text without words."""
        if not self.words:
            return 0.0
        return 0.39 * self.words / self.sentences + 11.8 * self.syllables / self.words - 15.59


def reading(text: str, terms: Collection[str] = ()) -> Reading:
    """Count what is in `text`; `terms` are taught, and count like those of any exercise."""
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
    """Return the syllables of an English word, as near as its letters tell."""
    letters = re.sub(r"['’]s$|['’]", "", word.lower())
    found = len(_VOWELS.findall(letters))
    found += sum(by for pattern, by in _CORRECTIONS if pattern.search(letters))
    return max(1, found)
