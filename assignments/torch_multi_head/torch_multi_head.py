# %% [markdown]
# `torch_multi_head.py` and `torch_multi_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check create_projections

# %% [markdown]
# # Multi-head attention in PyTorch
#
# This is the same layer as with a single head, but now several heads look at the tokens at the same time. Each works in its own part of the hidden size. One head may follow which word a pronoun stands for, while another follows word order. A single head would have to mix the two.
#
# You build it in small steps. Each step is one function, checked on its own, so an error in one does not spoil the next. At the end the steps become a class, `MultiHeadAttention`.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | for example |
# |---|---|---|
# | `B` | batch: how many sequences at once | 3 |
# | `S` | sequence: how many tokens in each | 5 |
# | `C` | hidden size: how many numbers describe one token | 8 |
# | `heads` | heads: how many there are | 2 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 4 |
#
# The heads share the hidden size evenly, `head_dim = C // heads`, so their number has to divide it.
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
# Three linear layers, for queries, keys and values, can be **fused** into one that is three times as wide. All their outputs depend on the same input, so nothing changes but the number of matrix products. The same is true of the heads: the layers of all heads, side by side, are one layer. `Wqkv` is that layer. `Wo` mixes what the heads have gathered.
#
# - `Wqkv`: from `hidden_size` to `3 * hidden_size`
# - `Wo`: from `hidden_size` to `hidden_size`
#
# The number of heads does not matter here. All heads together are as wide as the hidden size, however many there are.
#
# The bias is on by default, as in the original Transformer. `bias=False` leaves it out of both layers; several later models do so at little cost.


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")


# %% [markdown]
# ## 2. Queries, keys and values, split into heads
#
# For every token, the fused layer gives `3 * C` numbers: first the query, then the key, then the value. In each of them, one head follows the other. A reshape gives the 3 and the heads an axis each:
#
# $$(B, S, 3 \cdot C) \;\to\; (B, S, 3, \mathit{heads}, \mathit{head\_dim})$$
#
# Each head works on its own, as each sequence of the batch does. So the head axis moves to the front, beside the batch, where a matrix product leaves it alone. And `unbind` takes the tensor apart along the 3:
#
# $$(B, S, 3, \mathit{heads}, \mathit{head\_dim}) \;\to\; 3 \times (B, \mathit{heads}, S, \mathit{head\_dim})$$
#
# With the sizes of the example, (3, 5, 24) becomes (3, 5, 3, 2, 4), and that becomes (3, 2, 5, 4) three times.
#
# **A reshape moves nothing.** It reads the same numbers in the same order and cuts them up differently. Only a transpose makes two axes change places. A reshape straight to `(B, heads, S, head_dim)` has the right shape but the wrong numbers. A head would get whole tokens instead of its part of every token.


# %%
def split_heads(
    projected: Float[Tensor, "B S three_C"], num_heads: int
) -> tuple[
    Float[Tensor, "B heads S head_dim"],
    Float[Tensor, "B heads S head_dim"],
    Float[Tensor, "B heads S head_dim"],
]:
    """Split the result of the fused layer into the queries, keys and values of all heads.

    projected: (B, S, 3 * C), what the fused layer gives. num_heads: how many heads share C.
    Returns queries, keys, values in this order: (B, heads, S, head_dim) each.
    """
    # YOUR CODE HERE
    raise NotImplementedError("split_heads is not written yet")


# %% [markdown]
# ## 3. Attention scores
#
# How well does key $j$ answer query $i$? Their dot product tells you. One matrix product per head and sequence of the batch gives all pairs at once:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis and the head axis alone. The result is `(B, heads, S, S)`: in every head, a row for each query and a column for each key.


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B heads S head_dim"], keys: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S S"]:
    """Compare every query with every key of the same head.

    queries: (B, heads, S, head_dim). keys: (B, heads, S, head_dim).
    Returns attention_scores: (B, heads, S, S); entry (b, h, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")


# %% [markdown]
# ## 4. Scaling
#
# A dot product adds up `head_dim` products, so it spreads wider the larger the head is: its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. Without scaling, the softmax would put nearly all the weight on one token, and its gradient would all but vanish.
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# What counts is the size of the **head**, not the hidden size, since that is what the dot product runs over. With several heads, it is easy to mistake one for the other.


# %%
def scale_scores(
    attention_scores: Float[Tensor, "B heads S S"], head_dim: int
) -> Float[Tensor, "B heads S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, heads, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, heads, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")


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
    scaled_scores: Float[Tensor, "B heads S S"],
) -> Float[Tensor, "B heads S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, S, S).
    Returns attention_weights: (B, heads, S, S), each row along the last axis sums to 1.
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
# Weights `(B, heads, S, S)` and values `(B, heads, S, head_dim)` give one narrow vector per token and head, `(B, heads, S, head_dim)`. What the heads have gathered is not mixed yet.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads S S"], values: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, S, S). values: (B, heads, S, head_dim).
    Returns attention_output: (B, heads, S, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")


# %% [markdown]
# ## 7. Merging the heads
#
# Now the way back: a token's new vector holds what its heads have gathered, one head after the other.
#
# $$(B, \mathit{heads}, S, \mathit{head\_dim}) \;\to\; (B, S, \mathit{heads}, \mathit{head\_dim}) \;\to\; (B, S, C)$$
#
# First the head axis goes back behind the sequence axis, then the last two axes become one. Without the first move the shape is still right, but a token then holds numbers of other tokens. The layer would even train, only worse. A look at the shapes cannot find that error.


# %%
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")


# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors the heads stand side by side. `Wo` mixes them: every number that comes out depends on all heads. The shape stays, so the output of the layer has the shape of its input.


# %%
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# ## 9. The whole layer
#
# The class keeps the two layers as attributes `Wqkv` and `Wo`, so that PyTorch finds their parameters. It joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# The heads share the hidden size evenly. If the number of heads does not divide it, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.


# %%
class MultiHeadAttention(nn.Module):
    """Multi-head self-attention.

    Attributes: Wqkv, the linear layer from C to 3 * C, and Wo, from C to C.
    """

    def __init__(self, hidden_size: int, num_heads: int, bias: bool = True) -> None:
        """Make the two layers and keep them as attributes.

        hidden_size: C. num_heads: how many heads share it. bias: whether both layers have one.
        Raises AssertionError or ValueError when the heads do not divide the hidden size.
        """
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError("MultiHeadAttention.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others, in every head.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("MultiHeadAttention.forward is not written yet")


# %% [markdown]
# ## 10. Bonus: the causal layer
#
# A model that writes text from left to right may not look ahead: token $i$ gathers from tokens $0$ to $i$, itself included. The layer stays the same, but for one thing. Before the softmax, the scores of later tokens become negative infinity, so that their share is $e^{-\infty} = 0$.
#
# $$\text{masked scores}_{ij} = \begin{cases} \text{scaled scores}_{ij} & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}$$
#
# In `float32`, a number such as `-1e9` works as well as infinity. It does not fit into `float16`.
#
# The class builds on yours: it has the same `__init__` and the same two layers. You only write a new `forward`. Without `causal=True`, it does what `MultiHeadAttention` does.


# %%
class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention that can hide the future."""

    def forward(self, x: Float[Tensor, "B S C"], causal: bool = False) -> Float[Tensor, "B S C"]:
        """Let every token gather from all; with `causal`, only from itself and earlier ones.

        x: (B, S, C). causal: whether later tokens are hidden.
        Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("CausalMultiHeadAttention.forward is not written yet")
