"""The numbers in the prose: the sentence on its way through the reference, three numbers a word."""

import numpy as np

from autograder.checks import shared_beside, solution_beside

reference = solution_beside(__file__)
shared = shared_beside(__file__, "_attention/walkthrough.py")
# The prose writes its numbers with these.
globals().update({name: value for name, value in vars(shared).items() if name[:1] != "_"})
rounded, number, WORDS = shared.rounded, shared.number, shared.WORDS
IT, CAT, SLEPT, WAS, TIRED = shared.IT, shared.CAT, shared.SLEPT, shared.WAS, shared.TIRED

x = shared.numbers(shared.SENTENCE)
query_weights = shared.numbers(shared.QUERY_WEIGHTS)
key_weights = shared.numbers(shared.KEY_WEIGHTS)
value_weights = shared.numbers(shared.VALUE_WEIGHTS)
output_weights = shared.numbers(shared.OUTPUT_WEIGHTS)
S, D = x.shape

batch = x[np.newaxis]
projected = reference.project_qkv(batch, query_weights, key_weights, value_weights)
queries, keys, values = (each[0] for each in projected)
scores = reference.compute_attention_scores(projected[0], projected[1])[0]
scaled = rounded(reference.scale_scores(scores[np.newaxis], D)[0])
mask = reference.create_causal_mask(S)
masked = reference.apply_mask(scaled[np.newaxis], mask)[0]
weights = rounded(reference.compute_attention_weights(masked[np.newaxis])[0])
seen_all = rounded(reference.compute_attention_weights(scaled[np.newaxis])[0])
unscaled = rounded(reference.compute_attention_weights(scores[np.newaxis])[0])
gathered = rounded(reference.apply_attention(weights[np.newaxis], values[np.newaxis])[0])
result = rounded(reference.project_output(gathered[np.newaxis], output_weights)[0])
SEED = 0
drawn = reference.initialize_weights(D, np.random.default_rng(SEED))

# What “it” may see: the words up to itself.
SEEN = IT + 1
softmax_rows, powers_sum = shared.softmax_by_hand(scaled[IT, :SEEN])


def layer():
    """Return the reference's layer with the matrices of the example."""
    made = reference.SingleHeadAttention(D, np.random.default_rng(0))
    made.query_weights, made.key_weights = query_weights, key_weights
    made.value_weights, made.output_weights = value_weights, output_weights
    return made


# What another choice does: a query that looks for what happens, and vectors of 300 numbers.
other_weights = query_weights.copy()
other_weights[2] = (0, 2, 0)
other_queries = reference.project_qkv(batch, other_weights, key_weights, value_weights)[0][0]


def shares_of(width):
    """Return the shares of the fifth of five random words: of its scores as they are, divided."""
    asks, offers = np.random.default_rng(0).standard_normal((2, 1, 5, width))
    found = reference.compute_attention_scores(asks, offers)
    divided = reference.scale_scores(found, width)
    return [rounded(reference.softmax(each)[0, 4]) for each in (found, divided)]


narrow, wide = shares_of(3), shares_of(300)

# How training finds the matrices: from random ones, with what the made-up ones give as the goal.
STEPS, SHOWN_AFTER, ORDERS, RATE = 200, (0, 20, 50, 200), 16, 0.03


def turned(array):
    """Return an array with its last two axes swapped."""
    return array.swapaxes(-2, -1)


def loss_and_gradients(tokens, goal, matrices):
    """Return the mean squared distance from the goal, the weights, and a gradient per matrix."""
    asked, offered, passed = reference.project_qkv(tokens, *matrices[:3])
    found = reference.scale_scores(reference.compute_attention_scores(asked, offered), D)
    shares = reference.compute_attention_weights(reference.apply_mask(found, mask))
    taken = reference.apply_attention(shares, passed)
    distance = reference.project_output(taken, matrices[3]) - goal
    of_output = 2 * distance / distance.size
    of_taken = of_output @ turned(matrices[3])
    of_shares = of_taken @ turned(passed)
    of_scores = shares * (of_shares - (of_shares * shares).sum(axis=-1, keepdims=True)) / D**0.5
    of_parts = (of_scores @ offered, turned(of_scores) @ asked, turned(shares) @ of_taken)
    products = [turned(tokens) @ part for part in of_parts] + [turned(taken) @ of_output]
    return (distance**2).mean(), shares, [each.sum(axis=0) for each in products]


def trained():
    """Return the loss of every step, the weights of “it” after some, and the matrices (Adam)."""
    rng = np.random.default_rng(SEED)
    matrices = np.array(reference.initialize_weights(D, rng))
    tokens = x[np.array([np.arange(S), *(rng.permutation(S) for _ in range(ORDERS - 1))])]
    goal = layer().forward(tokens, causal=True)
    losses, looks = [], {}
    mean, square = np.zeros_like(matrices), np.zeros_like(matrices)
    for step in range(STEPS + 1):
        loss, shares, gradients = loss_and_gradients(tokens, goal, matrices)
        losses.append(loss)
        looks[step] = rounded(shares[0, IT])
        mean = 0.9 * mean + 0.1 * np.array(gradients)
        square = 0.999 * square + 0.001 * np.array(gradients) ** 2
        way = (mean / (1 - 0.9 ** (step + 1))) / np.sqrt(square / (1 - 0.999 ** (step + 1)) + 1e-16)
        matrices = matrices - RATE * way
    return losses, looks, matrices


losses, looks, found_matrices = trained()
TRAINING_IN_WORDS = (
    "The loss falls: "
    + ", ".join(f"{number(losses[step])} after {step} steps" for step in SHOWN_AFTER)
    + f". At first the shares of “it” are {shared.listed(looks[0][:SEEN])}; after {STEPS} steps "
    + f"they are {shared.listed(looks[STEPS][:SEEN])}, for {', '.join(WORDS[:SEEN])}."
)


def training_picture():
    """Return the drawing (SVG): the loss as a line, and a row of shares for some of the steps."""
    points = " ".join(
        f"{40 + step:.0f},{150 - 110 * loss / losses[0]:.0f}" for step, loss in enumerate(losses)
    )
    parts = [
        f'<polyline points="{points}" fill="none" stroke-width="2.5"/>',
        '<path d="M40 30v120h205" fill="none" stroke="#777"/>',
        f'<text x="40" y="20">loss, at first {number(losses[0])}</text>',
        f'<text x="36" y="154" text-anchor="end">0</text><text x="245" y="166" '
        f'text-anchor="end">step {STEPS}</text><text x="290" y="20">where “it” looks</text>',
    ]
    for column, word in enumerate(WORDS[:SEEN]):
        parts.append(f'<text x="{400 + 66 * column}" y="44" text-anchor="middle">{word}</text>')
    for row, step in enumerate(SHOWN_AFTER):
        parts.append(f'<text x="290" y="{69 + 29 * row}">step {step}</text>')
        for column, share in enumerate(looks[step][:SEEN]):
            left, top = 370 + 66 * column, 52 + 29 * row
            parts.append(
                f'<text x="{left + 30}" y="{top + 16}" text-anchor="middle">{share:.2f}</text>'
                f'<path d="M{left} {top + 21}h60" stroke-width="1" stroke-opacity="0.6"/>'
                f'<path d="M{left} {top + 21}h{60 * share:.0f}" stroke-width="5"/>'
            )
    # A notebook shows it on its own page, light or dark: no background, and colors for both.
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="710" height="176" '
        'font-family="sans-serif" font-size="14" fill="#777" stroke="#2a86dc">'
        + "".join(parts).replace("<text", '<text stroke="none"')
        + "</svg>"
    )


# What the prose says in words.
assert (other_queries[IT] != queries[IT]).tolist() == [True, True, False], "two numbers change"
assert (other_queries[IT] @ keys.T).argmax() == SLEPT, "then “slept” fits best"
assert wide[0].max() > 0.99 > 0.9 > wide[1].max(), "undivided, one word gets nearly everything"
assert abs(narrow[0].max() - narrow[1].max()) < 0.3, "with three numbers it matters less"
assert losses[STEPS] < 0.005 and np.all(np.array(looks[0][:SEEN]) == 0.2), "it begins alike"
assert all(losses[one] > losses[two] for one, two in zip(SHOWN_AFTER, SHOWN_AFTER[1:]))
assert abs(looks[STEPS] - weights[IT]).max() < 0.015, "it looks where it did by hand"
made_up = np.array([query_weights, key_weights, value_weights, output_weights])
assert all(abs(one - two).max() > 0.1 for one, two in zip(found_matrices, made_up)), "other ones"
assert np.array_equal(
    rounded(reference.softmax(scaled[np.newaxis, IT:SEEN, :SEEN])[0, 0]), softmax_rows["share"]
), "the shares by hand are those of the reference"
assert np.array_equal(weights[IT, :SEEN], softmax_rows["share"]), "the mask leaves five words"
assert scores[IT].argmax() == CAT and (scores[IT] == scores[IT, CAT]).sum() == 1
assert scores[IT, CAT] != scores[CAT, IT], "a score has a direction"
assert weights[IT].sum() == 1 and weights[IT, CAT] > 0.5, "“cat” gets more than half"
assert not weights[IT, SEEN:].any(), "nothing is left for what comes later"
assert seen_all[IT, WAS:].all() and unscaled[IT, CAT] > seen_all[IT, CAT]
assert (gathered[IT].argmax(), gathered[IT, 0] > 2 * x[IT, 0]) == (0, True), "mostly “thing”"
alone = layer().forward(batch)[0]
causal = layer().forward(batch, causal=True)[0]
assert np.flatnonzero(np.isclose(alone, causal).all(axis=-1)).tolist() == [TIRED], "only the last"
assert abs(causal[IT] - result[IT]).max() < 0.05, "rounding changes little"
