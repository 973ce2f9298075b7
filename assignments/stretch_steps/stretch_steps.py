# Stretch: √D, padding and cross-attention in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read measure_spread`. (The .ipynb holds the same steps.)

# %%
# Three open questions. Why the square root? What about sentences of different lengths? How does
# a translator read? The axes: N pairs of vectors, D numbers in each. B sequences in a batch.
# S tokens of x, which asks, and C numbers for each. T tokens of the context, and E for each.
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %%
# 1 The √D experiment
# The spread is the root of the mean square. Say there are two pairs, q = (1, 2) with k = (3, 2)
# and q = (1, 1) with k = (-1, 1). Cut to one number, their dot products are 3 and -1, with the
# spread √((9 + 1) / 2) = 2.24. With both numbers they are 7 and 0, with the spread 4.95.
def measure_spread(
    queries: Float[Tensor, "N D"],
    keys: Float[Tensor, "N D"],
) -> Float[Tensor, "D"]:
    """Measure how far dot products spread, for vectors of every width from 1 to D.

    queries: (N, D), one random vector a row. keys: (N, D), the partner of each query.
    Returns the spreads: (D,); entry w - 1 is that of the dot products of the first w numbers.
    """
    # YOUR CODE HERE
    raise NotImplementedError("measure_spread is not written yet")

# %%
# The experiment: 20 000 pairs. Run this file: python stretch_steps.py
# Which of the columns stays the same, however wide the vectors are?
if __name__ == "__main__":
    from autograder import show_numbers

    def spreads_of_many_pairs():
        widths = torch.tensor([1, 4, 16, 64, 256])
        spreads = measure_spread(*torch.randn(2, 20_000, 256))[widths - 1]
        return {
            "D": widths,
            "spread": spreads,
            "spread / √D": spreads / widths.sqrt(),
            "spread / D": spreads / widths,
        }

    show_numbers(spreads_of_many_pairs)

# %%
# 2 Padding: the mask
# Every sentence in a batch gets as many places as the longest one. The rest is padding, which
# means nothing. With num_tokens = 5, the lengths (3, 5) give:
# the cat slept             True  True  True  False False
# it was very tired indeed  True  True  True  True  True
# True is a token that may be seen. (For nn.MultiheadAttention, it is one that is hidden.)
def create_padding_mask(lengths: Int[Tensor, "B"], num_tokens: int) -> Bool[Tensor, "B T"]:
    """Say of every place whether it holds a real token.

    lengths: (B,), how many real tokens each sequence begins with, 1 or more.
    num_tokens: T, how many places there are.
    Returns padding_mask: (B, T), True for a real token and False for padding.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_padding_mask is not written yet")

# %%
# 3 Padding: the masked scores
# The scores of one query are (0, 0, 7), and the last place is padding. It would take nearly all:
# (0.001, 0.001, 0.998). With negative infinity in its place, the shares are (0.5, 0.5, 0).
# The mask says the same for every query. Which axis does (B, T) lack beside (B, S, T)?
def hide_padding(
    scaled_scores: Float[Tensor, "B S T"], padding_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B S T"]:
    """Hide the padding from every query.

    scaled_scores: (B, S, T). padding_mask: (B, T), True for a real token.
    Returns masked_scores: (B, S, T), negative infinity (or very negative) for padding.
    """
    # YOUR CODE HERE
    raise NotImplementedError("hide_padding is not written yet")

# %%
# 4 Queries from one sequence, keys and values from another
# A translator writes one sentence, x, and reads another, the context. The one being written asks,
# and the one being read answers. So each has its own number of tokens, and its own width.
# Wkv makes a key and a value at once, the key first: 2 * C numbers for each token of the context.
def project_two_sequences(
    x: Float[Tensor, "B S C"], context: Float[Tensor, "B T E"], Wq: nn.Linear, Wkv: nn.Linear
) -> tuple[Float[Tensor, "B S C"], Float[Tensor, "B T C"], Float[Tensor, "B T C"]]:
    """Project the sequence that asks to queries, and the one that is read to keys and values.

    x: (B, S, C). context: (B, T, E). Wq: the layer from C to C. Wkv: the layer from E to 2 * C.
    Returns queries (B, S, C), keys (B, T, C), values (B, T, C) in this order.
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_two_sequences is not written yet")

# %%
# 5 The cross-attention layer
# One head as wide as the hidden size, so you divide by the root of C. The scores (B, S, T) have a
# row for each token that asks, and a column for each token that is read. With lengths, hide the
# padding of the context. There is no causal mask: nothing in the context is the future.
class CrossAttention(nn.Module):
    """Attention from one sequence to another, with a single head.

    Attributes: Wq, the linear layer from C to C; Wkv, from E to 2 * C; Wo, from C to C.
    """

    def __init__(self, hidden_size: int, context_size: int, bias: bool = True) -> None:
        """Make the three layers and keep them as attributes.

        hidden_size: C. context_size: E. bias: whether all three layers have one.
        """
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError("CrossAttention.__init__ is not written yet")

    def forward(
        self,
        x: Float[Tensor, "B S C"],
        context: Float[Tensor, "B T E"],
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "B S C"]:
        """Let every token of x gather from the context.

        x: (B, S, C). context: (B, T, E). lengths: (B,), how many tokens of each context are real;
        None if all are. Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("CrossAttention.forward is not written yet")
