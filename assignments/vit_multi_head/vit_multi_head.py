# %% [markdown]
# `vit_multi_head.py` and `vit_multi_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check create_projections

# %% [markdown]
# # Multi-head attention of a vision transformer in PyTorch
#
# A vision transformer cuts an image into patches and treats them as the tokens of a sequence. One more token stands in front of them: the **class token**, which gathers what the whole image shows. The attention has several **heads**. Each works on its own slice of the token vectors, so that one token can look for several things at once.
#
# You build it in small steps. Each step is one function, checked on its own, so an error in one does not spoil the next. At the end the steps become a class, `MultiHeadSelfAttention`.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | for example |
# |---|---|---|
# | `B` | batch: how many images at once | 2 |
# | `N` | tokens: how many in each image, the patches and the class token | 5 |
# | `D` | hidden dimension: how many numbers describe one token | 12 |
# | `heads` | heads: how many there are | 3 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 4 |
#
# The heads share the hidden dimension evenly, `head_dim = D // heads`, so their number has to divide it.
#
# **The way through the layer**, step by step:
#
# | after | shape |
# |---|---|
# | the input `x` | `(B, N, D)` |
# | queries, keys, values | `(B, N, D)` each |
# | splitting the heads | `(B, heads, N, head_dim)` each |
# | scaled attention scores | `(B, heads, N, N)` |
# | attention weights (softmax) | `(B, heads, N, N)` |
# | weighted sum of the values | `(B, heads, N, head_dim)` |
# | merging the heads | `(B, N, D)` |
# | output projection | `(B, N, D)` |
#
# **How to work.** Replace the line that raises `NotImplementedError`, run the cell, then run the check under it. The check shows what is right so far and the one thing to look at next.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# Queries, keys and values come from one linear layer each, and a fourth one mixes the heads at the end. All four map `hidden_dim` numbers to `hidden_dim` numbers and have a bias:
#
# - `q_linear`: what a token is looking for
# - `k_linear`: what it offers for a match
# - `v_linear`: what it passes on
# - `out_linear`: how the gathered results of all heads are mixed
#
# One layer makes the queries of **all** heads at once. Later, each head takes its slice of the result.


# %%
def create_projections(hidden_dim: int) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
    """Make the four linear layers.

    hidden_dim: D, the size of a token's vector.
    Returns q_linear, k_linear, v_linear, out_linear in this order: D to D each, with a bias.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")


# %% [markdown]
# ## 2. Queries, keys and values
#
# Every token vector plays three roles, and each role has its own layer:
#
# $$Q = X W_Q^\top + b_Q \qquad K = X W_K^\top + b_K \qquad V = X W_V^\top + b_V$$
#
# The transpose and the bias are what a linear layer of PyTorch does when it is called. The shape stays: `(B, N, D)` goes in, and queries, keys and values are `(B, N, D)` each.


# %%
def project_qkv(
    x: Float[Tensor, "B N D"], q_linear: nn.Linear, k_linear: nn.Linear, v_linear: nn.Linear
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """Project the tokens to queries, keys and values, one layer for each.

    x: (B, N, D), the token vectors. The three linear layers: from D to D.
    Returns queries, keys, values in this order: (B, N, D) each.
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_qkv is not written yet")


# %% [markdown]
# ## 3. Splitting the heads
#
# Each head gets a slice of the vector: the first `head_dim` numbers belong to head 0, the next to head 1, and so on. Two moves bring the heads to the front, beside the batch. There, each matrix product that follows runs for every head by itself:
#
# $$(B, N, D) \;\to\; (B, N, \mathit{heads}, \mathit{head\_dim}) \;\to\; (B, \mathit{heads}, N, \mathit{head\_dim})$$
#
# The first move is a `view`: the same numbers in the same order, read with other axes. It cuts the last axis in two, and no number moves to another token. The second is a `permute`: it names the old axes in their new order, so `t.permute(1, 0)` transposes a matrix.
#
# A `view` straight to the last shape would also run, but it would cut across the tokens: a view never moves an axis.


# %%
def split_heads(
    projected: Float[Tensor, "B N D"], num_heads: int
) -> Float[Tensor, "B heads N head_dim"]:
    """Give every head its slice of each token's vector.

    projected: (B, N, D), the queries, keys or values. num_heads: how many heads share D.
    Returns the slices: (B, heads, N, head_dim), where head_dim is D // heads.
    """
    # YOUR CODE HERE
    raise NotImplementedError("split_heads is not written yet")


# %% [markdown]
# ## 4. Scaled attention scores
#
# How well does key $j$ answer query $i$? Their dot product tells you. One matrix product per head gives all pairs at once:
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# The transpose swaps the token axis and the `head_dim` axis of the keys, and leaves batch and heads alone. The result is `(B, heads, N, N)`: in every head, a row for each query and a column for each key.
#
# Why scale? A dot product adds up `head_dim` products, so it spreads wider the larger the head is: its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. Without scaling, the softmax would put nearly all the weight on one token, and its gradient would all but vanish. What counts is the size of the **head**, not the hidden dimension, since that is what the dot product runs over.


# %%
def compute_scaled_scores(
    queries: Float[Tensor, "B heads N head_dim"], keys: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N N"]:
    """Compare every query with every key of the same head, and scale.

    queries: (B, heads, N, head_dim). keys: (B, heads, N, head_dim).
    Returns scaled_scores: (B, heads, N, N); entry (b, h, i, j) is query i times key j,
    divided by the square root of head_dim.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_scaled_scores is not written yet")


# %% [markdown]
# ## 5. Attention weights
#
# The softmax turns each row of scores into shares that sum to 1:
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. In every head, row $i$ says how token $i$ divides its attention among all tokens.


# %%
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads N N"],
) -> Float[Tensor, "B heads N N"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, N, N).
    Returns attention_weights: (B, heads, N, N), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")


# %% [markdown]
# ## 6. Weighted sum of the values
#
# In every head, each token adds up the values of all tokens, each times its share:
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, heads, N, N)` and values `(B, heads, N, head_dim)` give one narrow vector per token and head, `(B, heads, N, head_dim)`. What the heads have gathered is not mixed yet.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads N N"], values: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, N, N). values: (B, heads, N, head_dim).
    Returns attention_output: (B, heads, N, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")


# %% [markdown]
# ## 7. Merging the heads
#
# Now the slices go back into one vector per token, one head after the other. It is splitting the heads, backwards:
#
# $$(B, \mathit{heads}, N, \mathit{head\_dim}) \;\to\; (B, N, \mathit{heads}, \mathit{head\_dim}) \;\to\; (B, N, D)$$
#
# Between the two moves, there is one thing to know about memory. A tensor is a row of numbers in memory, together with a rule for finding entry `(b, h, i, d)` in that row.
#
# - **`permute`** moves no number; it only changes the rule. Neighbors along the last two axes may then lie far apart in memory. Such a tensor is not **contiguous**.
# - **`view`** moves no number either. It joins two axes only where the numbers lie in the order of the axes. Otherwise it raises a `RuntimeError`: it refuses rather than copies.
# - **`contiguous()`** makes a copy in which the numbers do lie in the order of the axes. (If they already do, it returns the tensor itself.) A view of that works.
# - **`reshape`** is a view where a view is possible. Where it is not, it copies, without a word. It is right here too.
#
# None of them corrects a wrong order: a `reshape` without the `permute` runs, has the right shape, and mixes the tokens.


# %%
def merge_heads(
    attention_output: Float[Tensor, "B heads N head_dim"],
) -> Float[Tensor, "B N D"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, N, head_dim).
    Returns merged: (B, N, D), with D = heads * head_dim, the numbers of head 0 first.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")


# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors the heads stand side by side. `out_linear` mixes them: every number that comes out depends on all heads. The shape stays, so the output of the layer has the shape of its input.


# %%
def project_output(merged: Float[Tensor, "B N D"], out_linear: nn.Linear) -> Float[Tensor, "B N D"]:
    """Mix what the heads have gathered.

    merged: (B, N, D), the heads side by side. out_linear: the linear layer from D to D.
    Returns the layer's output: (B, N, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# ## 9. The whole layer
#
# The class keeps the four layers as attributes `q_linear`, `k_linear`, `v_linear` and `out_linear`, so that PyTorch finds their parameters. It joins the steps in `forward`. The checks put their own weights into the layers, by these names. The class also keeps two whole numbers: `num_heads`, how many heads there are, and `head_dim`, the size of each.
#
# The heads share the hidden dimension evenly. If the number of heads does not divide it, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.


# %%
class MultiHeadSelfAttention(nn.Module):
    """Multi-head self-attention.

    Attributes: q_linear, k_linear, v_linear and out_linear, the linear layers from D to D;
    num_heads, how many heads share D, and head_dim, the size of each.
    """

    def __init__(self, hidden_dim: int, num_heads: int) -> None:
        """Make the four layers and keep them as attributes.

        hidden_dim: D. num_heads: how many heads share it.
        Raises AssertionError or ValueError when the heads do not divide the hidden dimension.
        """
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError("MultiHeadSelfAttention.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        """Let every token gather from the others, in every head.

        x: (B, N, D). Returns the new token vectors: (B, N, D).
        """
        # YOUR CODE HERE
        raise NotImplementedError("MultiHeadSelfAttention.forward is not written yet")
