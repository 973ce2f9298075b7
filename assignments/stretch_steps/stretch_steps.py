# %% [markdown]
# `stretch_steps.py` and `stretch_steps.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check measure_spread

# %% [markdown]
# # Stretch: √D, padding and cross-attention in PyTorch
#
# These steps are for whoever wants to go on. They give no points, and nothing else needs them. Each answers a question that the four exercises leave open:
#
# - **Why the square root?** You were told that dot products spread like $\sqrt{D}$. Here you measure it.
# - **What about sentences of different lengths?** In a batch, short ones are filled up, and nobody may look at the filling.
# - **How does a translator read?** It writes one sentence and looks at another. That is cross-attention.
#
# **The shapes.** Letters name the axes of every tensor, and the same letters stand in the signatures:
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
# **How to work.** As before: replace the line that raises `NotImplementedError`, run the cell, then run the check under it.

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 1. The √D experiment
#
# Attention divides its scores by $\sqrt{D}$. Why not by $D$, and why at all? A measurement tells you more than a rule.
#
# Take $N$ pairs of random vectors, a query and a key each. Cut both to their first number and multiply: that is a dot product of width 1. Then take the first two numbers of each, then three, up to all $D$. For every width $w$ you have $N$ dot products. How far do they spread?
#
# $$\text{spread}_w = \sqrt{\frac{1}{N} \sum_{n=1}^{N} \Big( \sum_{d=1}^{w} q_{nd}\, k_{nd} \Big)^2}$$
#
# This is the root of their mean square. The dot products lie around 0, so no mean is subtracted.
#
# **By hand.** Let $N = 2$ and $D = 2$. The first pair is $q = (1, 2)$ and $k = (3, 2)$, the second $q = (1, 1)$ and $k = (-1, 1)$. With width 1 the dot products are $3$ and $-1$: the spread is $\sqrt{(9 + 1) / 2} \approx 2.24$. With width 2 they are $7$ and $0$: the spread is $\sqrt{49 / 2} \approx 4.95$.
#
# **Before you code.** With vectors four times as wide, is the spread four times as large, or less?
# (The answer is at the end of this file.)


# %%
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


# %% [markdown]
# Now the experiment: 20 000 pairs, whose numbers are drawn with a spread of 1. Run the cell. If you work in the script, run the file: `python stretch_steps.py`.
#
# Which of the columns stays the same, however wide the vectors are? So what should a score be divided by?

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
# From here on, several sentences share a batch. A tensor has straight edges, so every sentence in it gets as many places as the longest one. The places left over are filled with **padding**. It has numbers like any token, but it means nothing.
#
# The mask says which places are real:
#
# $$\text{mask}_{bj} = \big[\, j < \text{length}_b \,\big]$$
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
# **Before you code.** A sequence has length 3. Is position 3 real?
# (The answer is at the end of this file.)


# %%
def create_padding_mask(lengths: Int[Tensor, "B"], num_tokens: int) -> Bool[Tensor, "B T"]:
    """Say of every place whether it holds a real token.

    lengths: (B,), how many real tokens each sequence begins with, 1 or more.
    num_tokens: T, how many places there are.
    Returns padding_mask: (B, T), True for a real token and False for padding.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_padding_mask is not written yet")


# %% [markdown]
# ## 3. Padding: the masked scores
#
# Padding should get a share of 0 after the softmax, so its score becomes negative infinity, as in the causal layer:
#
# $$\text{masked scores}_{bij} = \begin{cases} \text{scaled scores}_{bij} & \text{if } \text{mask}_{bj} \\ -\infty & \text{otherwise} \end{cases}$$
#
# The rule depends on the key $j$ and not on the query $i$. So the mask `(B, T)` gets an axis of size 1 in the middle. Then it meets the scores `(B, S, T)`, and broadcasting repeats it for every query.
#
# **By hand.** The scores of one query are $(0, 0, 7)$ and the last place is padding. Without the mask, the padding takes nearly everything: $(0.001, 0.001, 0.998)$. With it, the row is $(0, 0, -\infty)$ and the shares are $(0.5, 0.5, 0)$.
#
# **Before you code.** If you hid a whole row, every score in it would be −∞. What is its softmax?
# (The answer is at the end of this file.)


# %%
def hide_padding(
    scaled_scores: Float[Tensor, "B S T"], padding_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B S T"]:
    """Hide the padding from every query.

    scaled_scores: (B, S, T). padding_mask: (B, T), True for a real token.
    Returns masked_scores: (B, S, T), negative infinity (or very negative) for padding.
    """
    # YOUR CODE HERE
    raise NotImplementedError("hide_padding is not written yet")


# %% [markdown]
# ## 4. Queries from one sequence, keys and values from another
#
# So far a sequence looked at itself. A translator looks at two: while it writes “die Katze”, it reads “the cat slept”. The sentence being written asks, so the **queries** come from it. The sentence being read answers, so the **keys and values** come from there.
#
# $$Q = X W_Q \qquad\qquad K,\, V = \text{context} \cdot W_{KV}$$
#
# Two things are new. The sequences have their own lengths, $S$ and $T$. And their tokens may have their own sizes, $C$ and $E$: an image model may read a text of another width.
#
# `Wq` is a linear layer from $C$ to $C$. `Wkv` goes from $E$ to $2 \cdot C$ and gives, for every token, first the key and then the value. Query and key need the same width, or they would have no dot product.
#
# **Before you code.** The text being read gets ten more words. Which of the three change?
# (The answer is at the end of this file.)


# %%
def project_two_sequences(
    x: Float[Tensor, "B S C"], context: Float[Tensor, "B T E"], Wq: nn.Linear, Wkv: nn.Linear
) -> tuple[Float[Tensor, "B S C"], Float[Tensor, "B T C"], Float[Tensor, "B T C"]]:
    """Project the sequence that asks to queries, and the one that is read to keys and values.

    x: (B, S, C). context: (B, T, E). Wq: the layer from C to C. Wkv: the layer from E to 2 * C.
    Returns queries (B, S, C), keys (B, T, C), values (B, T, C) in this order.
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_two_sequences is not written yet")


# %% [markdown]
# ## 5. The cross-attention layer
#
# Now all of it together. The scores are a rectangle, `(B, S, T)`: a row for each token that asks, a column for each token that is read. Everything else is as you know it, with one head as wide as the hidden size:
#
# $$\text{output} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{C}}\right) V \; W_O$$
#
# With `lengths`, the padding of the **context** is hidden. There is no causal mask: the sentence that is read is there from the start, so nothing in it is the future.
#
# In the original Transformer, this layer sits between the two halves. The *encoder* reads the source sentence with self-attention. Each block of the *decoder* has masked self-attention, then cross-attention to what the encoder gave. A GPT has no encoder, so it has no cross-attention either.
#
# **Before you code.** Which axes does the output have: those of x, or those of the context?
# (The answer is at the end of this file.)
#
# The class keeps its layers as attributes `Wq`, `Wkv` and `Wo`. The checks put their own weights into them by these names, and send a gradient back through your layer.


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


# %% [markdown]
# ## The answers
#
# Think about each question before you read on.
#
# ### 1. The √D experiment
#
# **Before you code.** With vectors four times as wide, is the spread four times as large, or less?
#
# Less: the products have signs, and some of them cancel. How much less, the experiment shows.
#
# ### 2. Padding: the mask
#
# **Before you code.** A sequence has length 3. Is position 3 real?
#
# No. Positions begin with 0, so the real ones are 0, 1 and 2.
#
# ### 3. Padding: the masked scores
#
# **Before you code.** If you hid a whole row, every score in it would be −∞. What is its softmax?
#
# NaN: 0 divided by 0. So only columns are hidden. What comes out in the row of a padded token, nobody reads.
#
# ### 4. Queries from one sequence, keys and values from another
#
# **Before you code.** The text being read gets ten more words. Which of the three change?
#
# The keys and the values: there are ten more of each. The queries stay, since they come from the other sentence.
#
# ### 5. The cross-attention layer
#
# **Before you code.** Which axes does the output have: those of x, or those of the context?
#
# Those of x, (B, S, C). A row of weights mixes all tokens of the context into one vector for one token of x.
