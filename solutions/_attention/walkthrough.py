"""How the prose of every exercise writes numbers, and the sentence that all of them follow.

Every result is rounded to two places, and the next step goes on with the rounded one. So whoever
does the sums by hand comes to the numbers that stand in the prose.
"""

import numpy as np

WORDS = "the cat slept because it was tired".split()
THE, CAT, SLEPT, BECAUSE, IT, WAS, TIRED = range(len(WORDS))
# Three made-up numbers for each word: how much it is a thing, how much it happens, and how much it
# leans on other words. (S, 3)
SENTENCE = ((0, 0, 1), (2, 0, 0), (0, 3, 0), (0, 1, 1), (1, 1, 1), (0, 1, 0), (1, 1, 0))
# They are applied on the right of a word's row, (3, 3) each.
QUERY_WEIGHTS = ((0, 1, 0), (1, 0, 0), (2, 0, 0))
KEY_WEIGHTS = ((1, 0, 1), (0, 1, 0), (0, 0, 1))
VALUE_WEIGHTS = ((2, 0, 0), (0, 1, 0), (0, 0, 1))
OUTPUT_WEIGHTS = ((1, 0, 0), (1, 1, 0), (0, 0, 2))
FORBIDDEN = -1e6  # what is below is a masked score
GAP = 2
LINE = 56  # characters of a matrix beside its name
S = len(WORDS)


def numbers(values):
    """Return an array's or a tensor's numbers as an array of float64."""
    return np.array(values.tolist() if hasattr(values, "tolist") else values, dtype=np.float64)


def rounded(values):
    """Return the numbers, rounded to two places."""
    return np.round(numbers(values), 2)


def number(value, places=2):
    """Return a number as text: whole ones without places, masked scores as `-1e9`."""
    value = float(value)
    if value < FORBIDDEN:
        return "-1e9"
    written = f"{value + 0.0:.{places}f}"
    return f"{value:.0f}" if value == int(value) else written


def listed(values, places=2):
    """Return the numbers of a row, with commas between them."""
    return ", ".join(number(value, places) for value in numbers(values))


def vector(values, places=2):
    """Return a row of numbers in brackets."""
    return f"({listed(values, places)})"


def rows(matrix, indent=8):
    """Return a matrix as nested lists for a cell of code, on one line or a row on each."""
    lists = [f"[{listed(row)}]" for row in numbers(matrix)]
    if len(line := f"[{', '.join(lists)}]") <= LINE:
        return line
    margin = " " * indent
    return "[\n" + "".join(f"{margin}    {each},\n" for each in lists) + f"{margin}]"


def dot(left, right):
    """Return the sum of the products of two rows, written out, and the sum.

    Raises AssertionError when the numbers, as they are shown, do not give the sum that is shown.
    """
    pairs = list(zip(numbers(left), numbers(right), strict=True))
    total = sum(one * other for one, other in pairs)
    by_hand = sum(float(number(one)) * float(number(other)) for one, other in pairs)
    assert number(by_hand) == number(total), f"{by_hand} by hand, but {total}"
    return f"{' + '.join(f'{number(a)}·{number(b)}' for a, b in pairs)} = {number(total)}"


def table(rows, heads=WORDS, places=2):
    """Return rows of numbers (name to row) in columns, each under its head."""
    cells = {name: [number(value, places) for value in numbers(row)] for name, row in rows.items()}
    first = max(map(len, cells))
    lines = [["", *heads], *([name, *row] for name, row in cells.items())]
    widths = [max(map(len, column)) + GAP for column in zip(*lines, strict=True)]
    return "\n".join(
        (f"{name:<{first}}" + "".join(f"{text:>{w}}" for text, w in zip(row, widths[1:]))).rstrip()
        for name, *row in lines
    )


def words_below(array, count=S):
    """Return a line for each of the first words, with its row of an (S, D) array."""
    rows = dict(zip(WORDS[:count], numbers(array)[:count], strict=True))
    return table(rows, heads=[""] * numbers(array).shape[1]).partition("\n")[2]


def side_by_side(matrices):
    """Return square matrices (name to rows) beside each other."""
    size = len(next(iter(matrices.values())))
    blocks = []
    for name, matrix in matrices.items():
        rows = ["  ".join(f"{number(value):>2}" for value in row) for row in numbers(matrix)]
        blocks.append(
            [f"{name if n == 0 else '':<{len(name)}} {row}" for n, row in enumerate(rows)]
        )
    return "\n".join("     ".join(block[n] for block in blocks).rstrip() for n in range(size))


def softmax_by_hand(scores):
    """Return the lines of a softmax of one row, with the numbers rounded on the way.

    Returns the rows by name, and the sum of the exponentials.
    """
    less = rounded(rounded(scores) - rounded(scores).max())
    powers = rounded(np.exp(less))
    total = round(float(powers.sum()), 2)
    shares = np.round(powers / total + 1e-9, 2)
    assert np.isclose(shares.sum(), 1), f"the shares sum to {shares.sum()}"
    rows = {"score": scores, "less the largest": less, "e to that": powers, "share": shares}
    return rows, total


def in_parts(rows, heads):
    """Return rows of numbers (name to row), each cut into equal parts that have the heads."""
    cells = {name: [number(value) for value in numbers(row)] for name, row in rows.items()}
    first = max(map(len, cells))
    width = max(len(text) for row in cells.values() for text in row) + GAP
    size = len(next(iter(cells.values()))) // len(heads)
    part = max(size * width, *map(len, heads)) + GAP
    lines = [" " * first + "".join(f"{head:>{part}}" for head in heads)]
    for name, row in cells.items():
        aligned = [f"{text:>{width}}" for text in row]
        parts = ["".join(aligned[n : n + size]) for n in range(0, len(row), size)]
        lines.append(f"{name:<{first}}" + "".join(f"{one:>{part}}" for one in parts))
    return "\n".join(lines)


def shape(array):
    """Return the sizes of the axes, as a learner sees them."""
    return str(tuple(array.shape))
