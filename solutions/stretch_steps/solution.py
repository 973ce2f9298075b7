# %% [markdown]
# # Stretch: √D, padding and cross-attention in PyTorch
#
# These steps are for whoever wants to go on. They give no points, and nothing else needs them. Each answers a question that is still open: why the square root, what about sentences of different lengths, and how does a translator read?

# %% [markdown] active="py"
# Three open questions. Why the square root? What about sentences of different lengths? How does
# a translator read? The axes: N pairs of vectors, D numbers in each. B sequences in a batch.
# S tokens of x, which asks, and C numbers for each. T tokens of the context, and E for each.

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 1. The √D experiment
#
# Scores are divided by $\sqrt{D}$. Why not by $D$, and why at all? Measure it. There are `N` random pairs of a query and a key, with `D` numbers each. Cut to their first number and multiplied, each pair gives a dot product of width 1. With two numbers each it has width 2, and so on, up to $D$. How far do the $N$ dot products of a width spread? The spread is the root of their mean square.
#
# **By hand.** One pair is $q = (1, 2)$ and $k = (3, 2)$, the other $q = (1, 1)$ and $k = (-1, 1)$. With width 1 the dot products are $3$ and $-1$: the spread is $\sqrt{(9 + 1) / 2} \approx 2.24$. With width 2 they are $7$ and $0$: the spread is $\sqrt{49 / 2} \approx 4.95$.
#
# <details>
# <summary><b>In general.</b> The formula, and why no mean is subtracted.</summary>
#
# $$\text{spread}_w = \sqrt{\frac{1}{N} \sum_{n=1}^{N} \Big( \sum_{d=1}^{w} q_{nd}\, k_{nd} \Big)^2}$$
#
# The dot products lie around 0, so no mean is subtracted.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> With vectors four times as wide, is the spread four times as large, or less?</summary>
#
# Less: the products have signs, and some of them cancel. How much less, the experiment shows.
#
# </details>

# %% [markdown] active="py"
# The spread is the root of the mean square. Say there are two pairs, q = (1, 2) with k = (3, 2)
# and q = (1, 1) with k = (-1, 1). Cut to one number, their dot products are 3 and -1, with the
# spread √((9 + 1) / 2) = 2.24. With both numbers they are 7 and 0, with the spread 4.95.


# %%
def measure_spread(
    queries: Float[Tensor, "N D"],
    keys: Float[Tensor, "N D"],
) -> Float[Tensor, "D"]:
    """Measure how far dot products spread, for vectors of every width from 1 to D.

    queries: (N, D), one random vector a row. keys: (N, D), the partner of each query.
    Returns the spreads: (D,); entry w - 1 is that of the dot products of the first w numbers.
    """
    ### BEGIN SOLUTION
    dot_products = (queries * keys).cumsum(dim=-1)
    return dot_products.square().mean(dim=0).sqrt()
    ### END SOLUTION


# %% [markdown]
# Now the experiment: 20 000 pairs, whose numbers are drawn with a spread of 1. Run the cell. If you work in the script, run the file: `python stretch_steps.py`.
#
# Which of the columns stays the same, however wide the vectors are? So what should a score be divided by?

# %% [markdown] active="py"
# The experiment: 20 000 pairs. Run this file: python stretch_steps.py
# Which of the columns stays the same, however wide the vectors are?


# %%
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

# %% [markdown]
# ## 2. Padding: the mask
#
# The third column stayed near 1: products of different signs cancel, so the spread grows like $\sqrt{D}$ and not like $D$. Divided by $D$, wide vectors would have scores near 0, and all shares would be nearly equal.
#
# From here on, `B` sentences share a batch. A tensor has straight edges, so every sentence in it gets `T` places, as many as the longest one needs. The places left over are filled with **padding**. It has numbers like any token, but it means nothing. The mask says which places are real.
#
# **By hand.** “the cat slept” has 3 tokens, “it was very tired indeed” has 5. With `num_tokens = 5`, the lengths `(3, 5)` give
#
# | | 0 | 1 | 2 | 3 | 4 |
# |---|---|---|---|---|---|
# | the cat slept | True | True | True | False | False |
# | it was very tired indeed | True | True | True | True | True |
#
# Here True means “may be seen”. Libraries do not agree on this: `nn.MultiheadAttention` wants True where a token is hidden. Always look it up.
#
# <details>
# <summary><b>In general.</b> The rule as a formula.</summary>
#
# $$\text{mask}_{bj} = \big[\, j < \text{length}_b \,\big]$$
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> A sequence has length 3. Is position 3 real?</summary>
#
# No. Positions begin with 0, so the real ones are 0, 1 and 2.
#
# </details>

# %% [markdown] active="py"
# Every sentence in a batch gets as many places as the longest one. The rest is padding, which
# means nothing. With num_tokens = 5, the lengths (3, 5) give:
# the cat slept             True  True  True  False False
# it was very tired indeed  True  True  True  True  True
# True is a token that may be seen. (For nn.MultiheadAttention, it is one that is hidden.)


# %%
def create_padding_mask(lengths: Int[Tensor, "B"], num_tokens: int) -> Bool[Tensor, "B T"]:
    """Say of every place whether it holds a real token.

    lengths: (B,), how many real tokens each sequence begins with, 1 or more.
    num_tokens: T, how many places there are.
    Returns padding_mask: (B, T), True for a real token and False for padding.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens, device=lengths.device)
    return positions < lengths[:, None]
    ### END SOLUTION


# %% [markdown]
# ## 3. Padding: the masked scores
#
# Padding should get a share of 0 after the softmax, so its score becomes negative infinity, as in the causal layer.
#
# The scores `(B, S, T)` have a row for each of `S` queries and a column for each of `T` keys. Whether a score is hidden depends on its key and not on its query. So the mask `(B, T)` gets an axis of size 1 in the middle. Then it meets the scores, and broadcasting repeats it for every query.
#
# **By hand.** The scores of one query are $(0, 0, 7)$ and the last place is padding. Without the mask, the padding takes nearly everything: $(0.001, 0.001, 0.998)$. With it, the row is $(0, 0, -\infty)$ and the shares are $(0.5, 0.5, 0)$.
#
# <details>
# <summary><b>In general.</b> The rule as a formula.</summary>
#
# $$\text{masked scores}_{bij} = \begin{cases} \text{scaled scores}_{bij} & \text{if } \text{mask}_{bj} \\ -\infty & \text{otherwise} \end{cases}$$
#
# The rule depends on the key $j$ and not on the query $i$.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> If you hid a whole row, every score in it would be −∞. What is its softmax?</summary>
#
# NaN: 0 divided by 0. So only columns are hidden. What comes out in the row of a padded token, nobody reads.
#
# </details>

# %% [markdown] active="py"
# The scores of one query are (0, 0, 7), and the last place is padding. It would take nearly all:
# (0.001, 0.001, 0.998). With negative infinity in its place, the shares are (0.5, 0.5, 0).
# The mask says the same for every query. Which axis does (B, T) lack beside (B, S, T)?


# %%
def hide_padding(
    scaled_scores: Float[Tensor, "B S T"], padding_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B S T"]:
    """Hide the padding from every query.

    scaled_scores: (B, S, T). padding_mask: (B, T), True for a real token.
    Returns masked_scores: (B, S, T), negative infinity (or very negative) for padding.
    """
    ### BEGIN SOLUTION
    return scaled_scores.masked_fill(~padding_mask[:, None, :], -math.inf)
    ### END SOLUTION


# %% [markdown]
# ## 4. Queries from one sequence, keys and values from another
#
# So far a sequence looked at itself. A translator looks at two: while it writes “die Katze”, it reads “the cat slept”. The sentence being written asks, so the **queries** come from it. The sentence being read answers, so the **keys and values** come from there. That is **cross-attention**.
#
# Two things are new. The sequences have their own lengths: `S` tokens of `x`, which asks, and `T` tokens of `context`, which is read. And their tokens may have their own sizes, `C` and `E`: an image model may read a text of another width.
#
# `Wq` is a linear layer from $C$ to $C$. `Wkv` goes from $E$ to $2 \cdot C$ and gives, for every token, first the key and then the value. Query and key need the same width, or they would have no dot product.
#
# <details>
# <summary><b>In general.</b> The products.</summary>
#
# $$Q = X W_Q \qquad\qquad K,\, V = \text{context} \cdot W_{KV}$$
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> The text being read gets ten more words. Which of the three change?</summary>
#
# The keys and the values: there are ten more of each. The queries stay, since they come from the other sentence.
#
# </details>

# %% [markdown] active="py"
# A translator writes one sentence, x, and reads another, the context. The one being written asks,
# and the one being read answers. So each has its own number of tokens, and its own width.
# Wkv makes a key and a value at once, the key first: 2 * C numbers for each token of the context.


# %%
def project_two_sequences(
    x: Float[Tensor, "B S C"], context: Float[Tensor, "B T E"], Wq: nn.Linear, Wkv: nn.Linear
) -> tuple[Float[Tensor, "B S C"], Float[Tensor, "B T C"], Float[Tensor, "B T C"]]:
    """Project the sequence that asks to queries, and the one that is read to keys and values.

    x: (B, S, C). context: (B, T, E). Wq: the layer from C to C. Wkv: the layer from E to 2 * C.
    Returns queries (B, S, C), keys (B, T, C), values (B, T, C) in this order.
    """
    ### BEGIN SOLUTION
    queries = Wq(x)
    keys, values = Wkv(context).chunk(2, dim=-1)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# ## 5. The cross-attention layer
#
# Now all of it together. The scores are a rectangle, `(B, S, T)`: a row for each token that asks, a column for each token that is read. Everything else is as you know it, with one head as wide as the hidden size: you divide by $\sqrt{C}$.
#
# With `lengths`, the padding of the **context** is hidden. There is no causal mask: the sentence that is read is there from the start, so nothing in it is the future.
#
# The class keeps its layers as attributes `Wq`, `Wkv` and `Wo`. The checks put their own weights into them by these names, and send a gradient back through your layer.
#
# <details>
# <summary><b>In general.</b> The formula, where the layer stands, and the axes with sizes.</summary>
#
# $$\text{output} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{C}}\right) V \; W_O$$
#
# In the original Transformer, this layer sits between the two halves. The *encoder* reads the source sentence with self-attention. Each block of the *decoder* has masked self-attention, then cross-attention to what the encoder gave. A GPT has no encoder, so it has no cross-attention either.
#
# | letter | axis | for example |
# |---|---|---|
# | `N` | pairs: how many dot products are measured | 4 |
# | `D` | width: how many numbers a vector has | 3 |
# | `B` | batch: how many sequences at once | 3 |
# | `S` | tokens of `x`, the sequence that asks | 2 |
# | `T` | tokens of `context`, the sequence that is read | 5 |
# | `C` | hidden size: how many numbers describe a token of `x` | 4 |
# | `E` | context size: how many describe a token of `context` | 6 |
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Which axes does the output have: those of x, or those of the context?</summary>
#
# Those of x, (B, S, C). A row of weights mixes all tokens of the context into one vector for one token of x.
#
# </details>

# %% [markdown] active="py"
# One head as wide as the hidden size, so you divide by the root of C. The scores (B, S, T) have a
# row for each token that asks, and a column for each token that is read. With lengths, hide the
# padding of the context. There is no causal mask: nothing in the context is the future.


# %%
class CrossAttention(nn.Module):
    """Attention from one sequence to another, with a single head.

    Attributes: Wq, the linear layer from C to C; Wkv, from E to 2 * C; Wo, from C to C.
    """

    def __init__(self, hidden_size: int, context_size: int, bias: bool = True) -> None:
        """Make the three layers and keep them as attributes.

        hidden_size: C. context_size: E. bias: whether all three layers have one.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.Wq = nn.Linear(hidden_size, hidden_size, bias=bias)
        self.Wkv = nn.Linear(context_size, 2 * hidden_size, bias=bias)
        self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        queries, keys, values = project_two_sequences(x, context, self.Wq, self.Wkv)
        scaled_scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
        if lengths is not None:
            padding_mask = create_padding_mask(lengths, context.shape[1])
            scaled_scores = hide_padding(scaled_scores, padding_mask)
        attention_weights = scaled_scores.softmax(dim=-1)
        return self.Wo(attention_weights @ values)
        ### END SOLUTION


# %% [markdown] active="ipynb"
# ## Your layer beside the library's
#
# `nn.MultiheadAttention` does cross-attention too: it takes the query, the key and the value as three arguments. It has separate weights when the context has another size (`kdim`, `vdim`), and its `key_padding_mask` is True where a token is **hidden**. With your weights in it, the numbers should be the same. Here $(B, S, C) = (2, 3, 8)$ and $(B, T, E) = (2, 5, 6)$, and the first context ends after 2 tokens.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = CrossAttention(hidden_size=8, context_size=6)
#     library = nn.MultiheadAttention(8, num_heads=1, kdim=6, vdim=6, batch_first=True)
#     with torch.no_grad():
#         library.q_proj_weight.copy_(layer.Wq.weight)
#         library.k_proj_weight.copy_(layer.Wkv.weight[:8])
#         library.v_proj_weight.copy_(layer.Wkv.weight[8:])
#         library.in_proj_bias.copy_(torch.cat([layer.Wq.bias, layer.Wkv.bias]))
#         library.out_proj.weight.copy_(layer.Wo.weight)
#         library.out_proj.bias.copy_(layer.Wo.bias)
#     x, context, lengths = torch.randn(2, 3, 8), torch.randn(2, 5, 6), torch.tensor([2, 5])
#     hidden = torch.tensor([[False, False, True, True, True], [False] * 5])
#     theirs = library(x, context, context, key_padding_mask=hidden, need_weights=False)[0]
#     return layer(x, context, lengths), theirs
#
#
# compare_with_library(yours_and_the_librarys, "nn.MultiheadAttention")
