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
    ### BEGIN SOLUTION
    Wqkv = nn.Linear(hidden_size, hidden_size * 3, bias=bias)
    Wo = nn.Linear(hidden_size, hidden_size, bias=bias)
    return Wqkv, Wo
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return queries @ keys.transpose(-2, -1)
    ### END SOLUTION


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
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. In every head, row $i$ says how token $i$ divides its attention among all tokens.


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
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    B, _, S, _ = attention_output.shape
    return attention_output.transpose(1, 2).reshape(B, S, -1)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return Wo(merged)
    ### END SOLUTION


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
# There are no more steps and no more points: the cells from here on show what you have built. They give your layer weights that are chosen by hand instead of drawn, so that you can see what each head does with them.
#
# Each token has 16 numbers. The first four say what kind of word it is. The next seven are its position, with a 1 at its place, and the rest are 0. The two heads look at different parts of them:
#
# - **Head 0** looks at the kinds. A verb looks for a noun, and half as much for a pronoun. A pronoun looks for the noun that it stands for. An article looks for nothing, so it looks everywhere alike.
# - **Head 1** looks at the positions: every token looks for the one before it.
#
# The value of a token is its position and nothing else, in both heads. So what a token gathers is itself the list of shares. The output holds the attention weights of head 0 and, beside them, those of head 1.
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

# %% [markdown] active="ipynb"
# With the bonus, the same two heads may not look ahead. Everything above the diagonal is 0, and each row is shared among fewer tokens.

# %% active="ipynb"
# show_attention(
#     lambda: attention_on_the_sentence(CausalMultiHeadAttention(16, 2), causal=True), tokens
# )

# %% [markdown] active="ipynb"
# ## Your layer beside the library's
#
# PyTorch has this layer built in: `nn.MultiheadAttention`. It keeps the fused weights as `in_proj_weight`, in the order query, key, value, and calls the output layer `out_proj`. With the weights of your layer, it should give the same numbers, up to rounding. Here $(B, S, C) = (2, 5, 12)$, with 3 heads.

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

# %% [markdown] active="ipynb"
# ## Your layer learns
#
# So far, the weights were chosen by hand. Now a small model finds its own, in a few seconds. It is a Transformer of two blocks, and the attention in both is your layer, with three heads. It reads six digits and six blanks: $(B, S, C) = (50, 12, 42)$. Watch the loss, and where each answer looks. Of all heads, you see the one that has made up its mind the most.

# %% active="ipynb"
# from autograder import train
#
# train("repeat", lambda hidden_size: MultiHeadAttention(hidden_size, num_heads=3))

# %% [markdown] active="ipynb"
# With the bonus, a model can write: the sorted digits, one after the other, as a GPT writes words. While it is trained, it reads the right answer, and your mask hides what comes later. Then it has to write alone.

# %% active="ipynb"
# train(
#     "write",
#     lambda hidden_size: CausalMultiHeadAttention(hidden_size, num_heads=3),
#     causal=True,
# )

# %% [markdown] active="ipynb"
# What does the mask do? Change `causal=True` to `causal=False` above, and run the cell again. The loss gets better. And what does the model write?

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
