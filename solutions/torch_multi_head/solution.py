# %% [markdown]
# # Multi-head attention in PyTorch
#
# The same layer as with a single head, but now several heads look at the tokens at the same time, each in its own part of the hidden size. One head may follow which word a pronoun stands for while another follows word order: a single head would have to mix the two.
#
# It comes in small steps. Each step is one function, checked on its own, so an error in one does not spoil the next. At the end the steps become a class, `MultiHeadAttention`.
#
# **The shapes.** Every tensor's axes are named, and the same names stand in the signatures:
#
# | name | axis | for example |
# |---|---|---|
# | `B` | batch: how many sequences at once | 2 |
# | `S` | sequence: how many tokens in each | 4 |
# | `C` | hidden size: how many numbers describe one token | 8 |
# | `heads` | heads: how many there are | 2 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 4 |
#
# The heads share the hidden size evenly, `head_dim = C // heads`, so their number has to divide it. In the example `S` and `head_dim` are both 4; the checks use other sizes too, in which no two are equal.
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
# Three linear layers, for queries, keys and values, can be **fused** into one that is three times as wide: each output number depends on the same input, so nothing changes but the number of matrix products. The same holds for the heads: the layers of all heads, side by side, are one layer. `Wqkv` is that layer, `Wo` the one that mixes what the heads have gathered.
#
# - `Wqkv`: from `hidden_size` to `3 * hidden_size`
# - `Wo`: from `hidden_size` to `hidden_size`
#
# The number of heads does not occur here. All heads together are as wide as the hidden size, however many they are.
#
# A bias is on by default, as in the original Transformer. `bias=False` leaves it out of both layers; several later models do so at little cost.


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    ### BEGIN SOLUTION
    Wqkv = nn.Linear(hidden_size, hidden_size * 3, bias=bias)
    Wo = nn.Linear(hidden_size, hidden_size, bias=bias)
    return Wqkv, Wo
    ### END SOLUTION


# %% [markdown]
# ## 2. Queries, keys and values, split into heads
#
# For every token the fused layer gives `3 * C` numbers: first the query, then the key, then the value, and in each of them one head after the other. A reshape gives the 3 and the heads an axis each:
#
# $$(B, S, 3 \cdot C) \;\to\; (B, S, 3, \mathit{heads}, \mathit{head\_dim})$$
#
# Each head works on its own, as each sequence of the batch does. So the head axis moves to the front, beside the batch, where a matrix product leaves it alone, and `unbind` takes the tensor apart along the 3:
#
# $$(B, S, 3, \mathit{heads}, \mathit{head\_dim}) \;\to\; 3 \times (B, \mathit{heads}, S, \mathit{head\_dim})$$
#
# With the sizes of the example: (2, 4, 24) becomes (2, 4, 3, 2, 4), and that three times (2, 2, 4, 4).
#
# **A reshape moves nothing.** It reads the same numbers in the same order and cuts them anew. Only a transpose makes two axes change places. A reshape straight to `(B, heads, S, head_dim)` has the right shape and the wrong numbers: a head would get whole tokens instead of its part of every token.


# %%
def split_heads(
    projected: Float[Tensor, "B S three_C"], num_heads: int
) -> tuple[
    Float[Tensor, "B heads S head_dim"],
    Float[Tensor, "B heads S head_dim"],
    Float[Tensor, "B heads S head_dim"],
]:
    """Take the result of the fused layer apart into the queries, keys and values of all heads.

    projected: (B, S, 3 * C), what the fused layer gives. num_heads: how many heads share C.
    Returns queries, keys, values in this order: (B, heads, S, head_dim) each.
    """
    ### BEGIN SOLUTION
    B, S, three_C = projected.shape
    head_dim = three_C // (3 * num_heads)
    parts = projected.reshape(B, S, 3, num_heads, head_dim)
    queries, keys, values = parts.transpose(1, 3).unbind(dim=2)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# ## 3. Attention scores
#
# How well does key $j$ answer query $i$? Their dot product says so. All pairs at once are one matrix product per head and sequence of the batch:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the `head_dim` axis of the keys. The batch axis and the head axis have no part in it. The result is `(B, heads, S, S)`: in every head a row per query and a column per key.


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B heads S head_dim"], keys: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S S"]:
    """Compare every query with every key of the same head.

    queries: (B, heads, S, head_dim). keys: (B, heads, S, head_dim).
    Returns attention_scores: (B, heads, S, S); entry (b, h, i, j) is query i times key j.
    """
    ### BEGIN SOLUTION
    return queries @ keys.transpose(-2, -1)
    ### END SOLUTION


# %% [markdown]
# ## 4. Scaling
#
# A dot product adds up `head_dim` products, so it spreads wider the larger the head is: its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. Left alone, the softmax would put nearly all weight on one token, and its gradient would all but vanish.
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# It is the size of the **head** that counts, since that is what the dot product runs over, and not the hidden size. With several heads the two are easily mistaken for each other.


# %%
def scale_scores(
    attention_scores: Float[Tensor, "B heads S S"], head_dim: int
) -> Float[Tensor, "B heads S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, heads, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, heads, S, S).
    """
    ### BEGIN SOLUTION
    return attention_scores / math.sqrt(head_dim)
    ### END SOLUTION


# %% [markdown]
# ## 5. Attention weights
#
# The softmax turns each row of scores into shares that sum to 1:
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# PyTorch has it, and it is stable; use it. What is left to decide is along which dimension it runs: row $i$ is how token $i$ divides its attention among all tokens, and it does so in every head anew.


# %%
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads S S"],
) -> Float[Tensor, "B heads S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, S, S).
    Returns attention_weights: (B, heads, S, S), each row along the last axis sums to 1.
    """
    ### BEGIN SOLUTION
    return scaled_scores.softmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# ## 6. Weighted sum of the values
#
# Each token takes the values of all tokens, each in its share, and in each head by that head's weights:
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# From weights `(B, heads, S, S)` and values `(B, heads, S, head_dim)` comes one narrow vector per token and head, `(B, heads, S, head_dim)`. What the heads have gathered is not mixed yet.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads S S"], values: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, S, S). values: (B, heads, S, head_dim).
    Returns attention_output: (B, heads, S, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


# %% [markdown]
# ## 7. Merging the heads
#
# The way back: a token's new vector holds what its heads have gathered, one head after the other.
#
# $$(B, \mathit{heads}, S, \mathit{head\_dim}) \;\to\; (B, S, \mathit{heads}, \mathit{head\_dim}) \;\to\; (B, S, C)$$
#
# First the head axis goes back behind the sequence axis, then the last two axes become one. Without the first half the shape is right as well, but a token then holds numbers of other tokens. The layer would even train, only worse: an error that a look at the shapes cannot find.


# %%
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    ### BEGIN SOLUTION
    B, _, S, _ = attention_output.shape
    return attention_output.transpose(1, 2).reshape(B, S, -1)
    ### END SOLUTION


# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors the heads stand side by side. `Wo` mixes them: every number that comes out depends on all heads. The shape stays, so the layer's output has the shape of its input.


# %%
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    ### BEGIN SOLUTION
    return Wo(merged)
    ### END SOLUTION


# %% [markdown]
# ## 9. The whole layer
#
# The class keeps the two layers as attributes `Wqkv` and `Wo`, so that PyTorch finds their parameters, and joins the steps in `forward`. The checks put weights of their own into the two layers, by these names.
#
# The heads share the hidden size evenly. A number of heads that does not divide it is a mistake of whoever makes the layer, and is best refused there and then: an `assert` or a `ValueError` in `__init__`, rather than an error about shapes deep inside `forward`.
#
# The checks also propagate a gradient back through your layer: every parameter has to get its part, so nothing on the way may be detached or changed in place.


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
        ### BEGIN SOLUTION
        assert hidden_size % num_heads == 0, f"{num_heads} heads cannot share {hidden_size} evenly"
        self.num_heads = num_heads
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others, in every head.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(merge_heads(attention_output), self.Wo)
        ### END SOLUTION


# %% [markdown]
# ## 10. Bonus: the causal layer
#
# This step has no points. A model that writes text from left to right may not look ahead: token $i$ gathers from tokens $0$ to $i$, itself included. The layer is the same, with one line more: before the softmax, the scores of later tokens become negative infinity, so that their share is $e^{-\infty} = 0$.
#
# $$\text{masked scores}_{ij} = \begin{cases} \text{scaled scores}_{ij} & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}$$
#
# A number such as `-1e9` in place of infinity does as well, in `float32`. It does not fit into `float16`.
#
# The class builds on yours: it has the same `__init__` and the same two layers, and only `forward` is written anew. Without `causal=True` it does what `MultiHeadAttention` does.


# %%
class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention that can hide the future."""

    def forward(self, x: Float[Tensor, "B S C"], causal: bool = False) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others; with `causal` only from itself and earlier ones.

        x: (B, S, C). causal: whether later tokens are hidden.
        Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        if causal:
            S = x.shape[1]
            visible = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()
            scaled_scores = scaled_scores.masked_fill(~visible, -math.inf)
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(merge_heads(attention_output), self.Wo)
        ### END SOLUTION


# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# No step and no points: the cells from here on show what you have built. They give your layer weights that were chosen by hand instead of drawn, so that one can see what each head does with them.
#
# Each token is described by 16 numbers. The first four say what kind of word it is, the next seven are its position, with a 1 at its place, and the rest is 0. The two heads look at different parts of them:
#
# - **Head 0** looks at the kinds: a verb looks for a noun and half as much for a pronoun, a pronoun for the noun that it stands for. An article looks for nothing, so it looks everywhere alike.
# - **Head 1** looks at the positions: every token looks for the one before it.
#
# The value of a token is its position and nothing else, in both heads. What a token gathers is then itself the list of shares, and the output holds the attention weights of head 0 and, beside them, those of head 1.
#
# $$(B, S, C) = (1, 7, 16) \qquad \mathit{heads} = 2 \qquad \mathit{head\_dim} = 8$$

# %% active="ipynb"
# from autograder import show_attention
#
# tokens = "the cat slept because it was tired".split()
#
#
# def attention_on_the_sentence(layer, **causal):
#     noun, verb, pronoun, adjective = kinds = torch.eye(4)
#     nothing = torch.zeros(4)
#     positions = torch.eye(7)
#     x = torch.zeros(1, 7, 16)
#     x[0, :, :4] = torch.stack([nothing, noun, verb, nothing, pronoun, verb, adjective])
#     x[0, :, 4:11] = positions
#
#     looks_for = [verb, noun + pronoun / 2, noun, noun / 2 + pronoun]
#     query, key, value = parts = torch.zeros(3, 16, 16)  # each (C, C), head 0 in rows 0 to 7
#     query[:4, :4] = 7 * torch.stack(looks_for).T
#     key[:4, :4] = kinds
#     query[8:14, 5:11] = 7 * torch.eye(6)  # who stands at 1 looks for who stands at 0, and so on
#     key[8:15, 4:11] = positions
#     value[:7, 4:11] = value[8:15, 4:11] = positions
#
#     with torch.no_grad():
#         layer.Wqkv.weight.copy_(parts.flatten(end_dim=1))
#         layer.Wo.weight.copy_(torch.eye(16))
#         layer.Wqkv.bias.zero_()
#         layer.Wo.bias.zero_()
#         output = layer(x, **causal)[0]
#     return {"head 0: kinds": output[:, :7], "head 1: positions": output[:, 8:15]}
#
#
# show_attention(lambda: attention_on_the_sentence(MultiHeadAttention(16, 2)), tokens)

# %% [markdown] active="ipynb"
# Read it row by row: where does “it” look in head 0, and where in head 1? A single head would have to mix the two.
#
# With the bonus, the same two heads without a look ahead: everything above the diagonal is 0, and a row shares out among fewer tokens.

# %% active="ipynb"
# show_attention(
#     lambda: attention_on_the_sentence(CausalMultiHeadAttention(16, 2), causal=True), tokens
# )

# %% [markdown] active="ipynb"
# ## Your layer beside the library's
#
# PyTorch has this layer built in: `nn.MultiheadAttention`. It keeps the fused weights as `in_proj_weight`, in the order query, key, value, and calls the output layer `out_proj`. With your layer's weights loaded, both have to give the same numbers, up to rounding; $(B, S, C) = (2, 5, 12)$ with 3 heads.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = MultiHeadAttention(hidden_size=12, num_heads=3)
#     library = nn.MultiheadAttention(12, 3, batch_first=True)
#     with torch.no_grad():
#         library.in_proj_weight.copy_(layer.Wqkv.weight)
#         library.in_proj_bias.copy_(layer.Wqkv.bias)
#         library.out_proj.weight.copy_(layer.Wo.weight)
#         library.out_proj.bias.copy_(layer.Wo.bias)
#     x = torch.randn(2, 5, 12)
#     return layer(x), library(x, x, x, need_weights=False)[0]
#
#
# compare_with_library(yours_and_the_librarys, "nn.MultiheadAttention")
