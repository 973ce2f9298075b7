"""The numbers in the prose: a picture of four patches, six numbers a token, in the reference."""

import torch

from autograder.checks import shared_beside, solution_beside

reference = solution_beside(__file__)
shared = shared_beside(__file__, "_attention/walkthrough.py")
globals().update({name: value for name, value in vars(shared).items() if name[:1] != "_"})
rounded = shared.rounded

HEADS = 2
HEAD_NAMES = tuple(f"head {head}" for head in range(HEADS))
TOKENS = ("[class]", "sky", "sun", "grass", "cow")
CLASS, SKY, SUN, GRASS, COW = range(len(TOKENS))
# What a token is: the class token, bright, standing out. Where it is: left, right, low. (N, D)
PICTURE = (
    (1, 0, 0, 0, 0, 0),
    (0, 2, 0, 1, 0, 0),
    (0, 3, 2, 0, 1, 0),
    (0, 1, 0, 1, 0, 1),
    (0, 0, 2, 0, 1, 1),
)
NOTHING = ((0, 0, 0),) * 3
SAME = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
# Rows of weights as PyTorch keeps them, one for each number that comes out, (3, 6) each.
LOOK_FOR_WHAT_STANDS_OUT = ((0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0))
LOOK_AROUND = ((0, 0, 0, 0, 1, 0), (1, 0, 0, 1, 0, 0), (2, 0, 0, 0, 0, 2))
QUERY_BIAS = (0, 0, 1, 0, 0, 0)


def tensor(rows):
    """Return rows as a tensor of float64."""
    return torch.tensor(rows, dtype=torch.float64)


def to_two_places(result):
    """Return a tensor, rounded as the prose shows it."""
    return tensor(rounded(result))


def side(left, right):
    """Return the rows of a layer (3, 6) that reads what a token is, and where it is."""
    return torch.cat([tensor(left), tensor(right)], dim=1)


q_weight = torch.cat([tensor(LOOK_FOR_WHAT_STANDS_OUT), tensor(LOOK_AROUND)])
k_weight = torch.cat([side(SAME, NOTHING), side(NOTHING, SAME)])
v_weight = torch.cat([side(NOTHING, SAME), side(SAME, NOTHING)])
out_weight = torch.cat([side(NOTHING, SAME), side(SAME, NOTHING)])
out_weight[2, 2] = 1  # one number that is made of both heads

batch = tensor(PICTURE)[None]
x = batch[0]
B, N, D = batch.shape

layer = reference.MultiHeadSelfAttention(D, HEADS).double()
with torch.no_grad():
    for each in layer.parameters():
        each.zero_()
    layer.q_linear.weight.copy_(q_weight)
    layer.q_linear.bias.copy_(tensor(QUERY_BIAS))
    layer.k_linear.weight.copy_(k_weight)
    layer.v_linear.weight.copy_(v_weight)
    layer.out_linear.weight.copy_(out_weight)
learned = sum(each.numel() for each in layer.parameters())
four_layers = reference.create_projections(768)
of_vit_base = f"{sum(each.numel() for made in four_layers for each in made.parameters()):,}"

projected = [
    each.detach()
    for each in reference.project_qkv(batch, layer.q_linear, layer.k_linear, layer.v_linear)
]
all_queries, all_keys, all_values = (each[0] for each in projected)
split = [reference.split_heads(each, HEADS) for each in projected]
queries, keys, values = (each[0] for each in split)
head_dim = queries.shape[-1]
scores = queries @ keys.transpose(-2, -1)
scaled = to_two_places(reference.compute_scaled_scores(split[0], split[1])[0])
weights = to_two_places(reference.compute_attention_weights(scaled[None])[0])
too_flat = to_two_places((scores / D**0.5).softmax(dim=-1))
down_the_columns = to_two_places(scaled.softmax(dim=-2))
gathered = to_two_places(reference.apply_attention(weights[None], values[None])[0])
merged = reference.merge_heads(gathered[None])[0]
result = to_two_places(reference.project_output(merged[None], layer.out_linear)[0])
softmax_rows, powers_sum = shared.softmax_by_hand(scaled[1, CLASS])
exact = layer(batch).detach()[0]

# What comes out when a view or a reshape stands where axes have to change places.
cut_across = projected[0][0].view(HEADS, N, head_dim)
merged_across = gathered.reshape(N, D)
token_by_token = gathered.permute(1, 0, 2)
to_next_token, to_next_head, to_next_number = token_by_token.stride()

# The picture of four patches, drawn: what each shows within a square with sides of 60.
PATCHES_IN_WORDS = (
    "A picture, cut into four patches. At the top are sky and sun, and below them grass and cow. "
    "An arrow leads to the row of tokens: the class token, sky, sun, grass, cow."
)
SHOWN = {
    "sky": '<rect width="60" height="60" fill="#a9d3f5"/><path d="M12 30q0 -9 10 -9q4 -8 13 -4'
    'q12 -1 12 8q6 8 -5 9h-24q-7 0 -6 -4z" fill="#fff"/>',
    "sun": '<rect width="60" height="60" fill="#a9d3f5"/>'
    '<circle cx="31" cy="29" r="14" fill="#ffc93c" stroke="#d98e04" stroke-width="2"/>',
    "grass": '<rect width="60" height="60" fill="#9ccc7a"/><path d="M10 44l4 -14l4 14M26 26l4 -14'
    'l4 14M40 50l4 -14l4 14" stroke="#3f7d20" stroke-width="2" fill="none"/>',
    "cow": '<rect width="60" height="60" fill="#9ccc7a"/><path d="M13 24h26l5 -7h8v10l-8 3v18h-4'
    'v-10h-19v10h-4v-14z" fill="#6b4226"/><rect x="20" y="26" width="9" height="6" fill="#fff"/>',
}


def patches():
    """Return the drawing (SVG): the picture in four patches, and the tokens in a row."""
    places = [(2, 2), (66, 2), (2, 66), (66, 66)]
    parts = [
        f'<g transform="translate({left} {top})">{SHOWN[name]}</g>'
        for name, (left, top) in zip(TOKENS[1:], places, strict=True)
    ]
    parts.append('<path d="M140 64h26m-6 -6l6 6l-6 6" fill="none" stroke="#888" stroke-width="2"/>')
    for number, name in enumerate(TOKENS):
        left, shown = (
            180 + 70 * number,
            SHOWN.get(name, '<rect width="60" height="60" fill="#ddd"/>'),
        )
        parts.append(
            f'<g transform="translate({left} 20)">{shown}<rect y="60" width="60" height="22" '
            f'fill="#eef2f8"/><text x="30" y="76" text-anchor="middle" fill="#16243a">{name}</text>'
            '<rect width="60" height="82" fill="none" stroke="#3d5a80"/></g>'
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="524" height="128" '
        f'font-family="sans-serif" font-size="14">{"".join(parts)}</svg>'
    )


def of_class_token(rows):
    """Return the row of the class token in each head, (heads, N, N)."""
    return shared.table(dict(zip(HEAD_NAMES, rows[:, CLASS], strict=True)), TOKENS)


def values_and_shares(head):
    """Return the values of a head and the shares of the class token, a column for each token."""
    columns = dict(zip(("value", "", " "), values[head].T, strict=True))
    return shared.table({**columns, "share": weights[head, CLASS]}, TOKENS)


def refused(join):
    """Whether PyTorch refuses to join axes without a copy."""
    try:
        join()
    except RuntimeError:
        return True
    return False


# What the prose says in words.
assert (D, HEADS, head_dim, N) == (6, 2, 3, 5), "every axis has another size"
assert torch.equal(cut_across[0, SKY], queries[1, CLASS]), "head 1 of the class token"
assert torch.equal(merged_across[CLASS], gathered[0, :2].flatten()), "two tokens, one head"
for before, after in zip(projected, split, strict=True):
    assert before.untyped_storage().data_ptr() == after.untyped_storage().data_ptr(), "no copy"
    assert not after.is_contiguous()
assert token_by_token.untyped_storage().data_ptr() == gathered.untyped_storage().data_ptr()
assert refused(lambda: token_by_token.view(N, D)), "a view refuses rather than copies"
assert gathered.contiguous() is gathered, "what is contiguous comes back as it is"
assert torch.equal(token_by_token.contiguous().view(N, D), token_by_token.reshape(N, D))
assert weights[0, CLASS, SUN] == weights[0, CLASS, COW] > 0.4, "both stand out alike"
assert weights[1, CLASS].argmax() == COW and weights[1, CLASS, GRASS] > weights[1, CLASS, SUN]
assert torch.equal(weights[1, CLASS], tensor(softmax_rows["share"])), "the shares by hand"
assert torch.allclose(weights[:, CLASS].sum(dim=-1), torch.ones(2).double()), "shares sum to 1"
assert too_flat[0, CLASS, COW] < weights[0, CLASS, COW]
assert gathered[0, CLASS].argmax() == 1 and gathered[0, CLASS, 1] > 0.8, "it is on the right"
assert gathered[1, CLASS].argmax() == 2, "something stands out"
assert abs(exact[CLASS] - result[CLASS]).max() < 0.05, "rounding changes little"
assert weights[1, GRASS].argmax() == COW and weights[1, COW].argmax() == GRASS, "side by side"
shuffled = torch.tensor([CLASS, COW, SKY, GRASS, SUN])
assert torch.allclose(layer(batch[:, shuffled])[0], exact[shuffled]), "order is not seen"

# What the learner's own looks and first test should show.
assert 0.12 < reference.create_projections(64)[0].weight.abs().max() <= 0.125
tried = torch.randn(2, 5, 12)
assert reference.MultiHeadSelfAttention(hidden_dim=12, num_heads=3)(tried).shape == (2, 5, 12)
assert (224 // 16) ** 2 + 1 == 197 and 768 // 12 == 1024 // 16 == 64
