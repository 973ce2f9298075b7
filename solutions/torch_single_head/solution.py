# %% [markdown]
# # Single-head attention in PyTorch
#
# This is the same layer as in NumPy, now as a PyTorch module. Its weights are parameters that an optimizer can train, and one linear layer makes queries, keys and values at once.
#
# You build it in small steps. Each step is one function, checked on its own, so an error in one does not spoil the next. At the end the steps become a class, `SingleHeadAttention`.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | for example |
# |---|---|---|
# | `B` | batch: how many sequences at once | 2 |
# | `S` | sequence: how many tokens in each | 5 |
# | `C` | hidden size: how many numbers describe one token | 12 |
# | `head_dim` | head size: how many numbers a query, key or value has | 3 |
#
# In multi-head attention a head is narrower than the hidden size. With a single head any width would do; here it is a quarter, `head_dim = C // 4`.
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
# Three linear layers, for queries, keys and values, can be **fused** into one that is three times as wide. All their outputs depend on the same input, so nothing changes but the number of matrix products. `Wqkv` is that layer. `Wo` brings the gathered vectors back to the hidden size.
#
# - `Wqkv`: from `hidden_size` to `3 * head_dim`
# - `Wo`: from `head_dim` to `hidden_size`
#
# `head_dim` is `hidden_size // 4`, in whole numbers. For a hidden size of 10 it is 2, with a remainder of 2, so `Wqkv` is 6 wide. Dividing last instead (`10 * 3 // 4` is 7) would give a width that cannot be cut into three.
#
# The bias is on by default, as in the original Transformer. `bias=False` leaves it out of both layers; several later models do so at little cost.


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * head_dim) and Wo (head_dim to C), where head_dim is C // 4.
    """
    ### BEGIN SOLUTION
    head_dim = hidden_size // 4
    Wqkv = nn.Linear(hidden_size, head_dim * 3, bias=bias)
    Wo = nn.Linear(head_dim, hidden_size, bias=bias)
    return Wqkv, Wo
    ### END SOLUTION


# %% [markdown]
# ## 2. Queries, keys and values
#
# For every token, the fused layer gives `3 * head_dim` numbers: first the query, then the key, then the value. A reshape gives the 3 an axis of its own, and `unbind` takes the tensor apart along it:
#
# $$(B, S, 3 \cdot \mathit{head\_dim}) \;\to\; (B, S, 3, \mathit{head\_dim}) \;\to\; 3 \times (B, S, \mathit{head\_dim})$$
#
# The new axis stands **in front of** `head_dim`, because the numbers of one query lie next to each other.


# %%
def project_qkv(
    x: Float[Tensor, "B S C"], Wqkv: nn.Linear
) -> tuple[
    Float[Tensor, "B S head_dim"], Float[Tensor, "B S head_dim"], Float[Tensor, "B S head_dim"]
]:
    """Project the tokens to queries, keys and values with one fused layer.

    x: (B, S, C), the token vectors. Wqkv: the linear layer from C to 3 * head_dim.
    Returns queries, keys, values in this order: (B, S, head_dim) each.
    """
    ### BEGIN SOLUTION
    B, S, _ = x.shape
    projected = Wqkv(x)
    queries, keys, values = projected.reshape(B, S, 3, projected.shape[-1] // 3).unbind(dim=2)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# ## 3. Attention scores
#
# How well does key $j$ answer query $i$? Their dot product tells you. One matrix product per sequence of the batch gives all pairs at once:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis alone. The result is `(B, S, S)`: in every sequence, a row for each query and a column for each key.


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B S head_dim"], keys: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, head_dim). keys: (B, S, head_dim).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
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
# What counts is the size of the **head**, not the hidden size, since that is what the dot product runs over.


# %%
def scale_scores(attention_scores: Float[Tensor, "B S S"], head_dim: int) -> Float[Tensor, "B S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, S, S).
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
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. Row $i$ says how token $i$ divides its attention among all tokens.


# %%
def compute_attention_weights(scaled_scores: Float[Tensor, "B S S"]) -> Float[Tensor, "B S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    ### BEGIN SOLUTION
    return scaled_scores.softmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# ## 6. Weighted sum of the values
#
# Each token adds up the values of all tokens, each times its share:
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# A token that gives one key the weight 1 takes the value of that key and nothing else. Equal weights give the mean of all values. Weights `(B, S, S)` and values `(B, S, head_dim)` give one vector per token again, `(B, S, head_dim)`.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B S S"], values: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, head_dim).
    Returns attention_output: (B, S, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


# %% [markdown]
# ## 7. Output projection
#
# The gathered vectors are as narrow as the head. `Wo` mixes their numbers and brings them back to the hidden size, so that the layer's output has the shape of its input:
#
# $$(B, S, \mathit{head\_dim}) \;\to\; (B, S, C)$$


# %%
def project_output(
    attention_output: Float[Tensor, "B S head_dim"], Wo: nn.Linear
) -> Float[Tensor, "B S C"]:
    """Project the gathered values back to the hidden size.

    attention_output: (B, S, head_dim). Wo: the linear layer from head_dim to C.
    Returns the layer's output: (B, S, C).
    """
    ### BEGIN SOLUTION
    return Wo(attention_output)
    ### END SOLUTION


# %% [markdown]
# ## 8. The whole layer
#
# The class keeps the two layers as attributes `Wqkv` and `Wo`, so that PyTorch finds their parameters. It joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# They also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.


# %%
class SingleHeadAttention(nn.Module):
    """Single-head self-attention.

    Attributes: Wqkv, the linear layer from C to 3 * head_dim, and Wo, from head_dim to C.
    """

    def __init__(self, hidden_size: int, bias: bool = True) -> None:
        """Make the two layers and keep them as attributes.

        hidden_size: C. bias: whether both layers have one.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = project_qkv(x, self.Wqkv)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(attention_output, self.Wo)
        ### END SOLUTION


# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# There are no more steps and no more points: the cells from here on show what you have built. They give your layer weights that are chosen by hand instead of drawn, so that you can see what it does with them.
#
# Each token has 32 numbers. The first four say what kind of word it is. The next seven are its position, with a 1 at its place, and the rest are 0. The queries let every word look for other kinds. A verb looks for a noun, and half as much for a pronoun. A pronoun looks for the noun that it stands for. An article looks for nothing, so it looks everywhere alike.
#
# The value of a token is its position and nothing else. So what a token gathers is itself the list of shares: row $i$ of the output **is** row $i$ of the attention weights.
#
# $$(B, S, C) = (1, 7, 32) \qquad \mathit{head\_dim} = 8$$

# %% active="ipynb"
# from autograder import show_attention
#
# tokens = "the cat slept because it was tired".split()
#
#
# def attention_on_the_sentence():
#     noun, verb, pronoun, adjective = kinds = torch.eye(4)
#     nothing = torch.zeros(4)
#     x = torch.zeros(1, 7, 32)
#     x[0, :, :4] = torch.stack([nothing, noun, verb, nothing, pronoun, verb, adjective])
#     x[0, :, 4:11] = torch.eye(7)
#
#     looks_for = [verb, noun + pronoun / 2, noun, noun / 2 + pronoun]
#     query, key, value = parts = torch.zeros(3, 8, 32)  # each (head_dim, C)
#     query[:4, :4] = 7 * torch.stack(looks_for).T
#     key[:4, :4] = kinds
#     value[:7, 4:11] = torch.eye(7)
#
#     layer = SingleHeadAttention(hidden_size=32)
#     with torch.no_grad():
#         layer.Wqkv.weight.copy_(parts.flatten(end_dim=1))
#         layer.Wo.weight.copy_(torch.eye(32, 8))
#         layer.Wqkv.bias.zero_()
#         layer.Wo.bias.zero_()
#         return {"attention weights": layer(x)[0, :, :7]}
#
#
# show_attention(attention_on_the_sentence, tokens)

# %% [markdown] active="ipynb"
# Read it row by row: where does “it” look, and where does “slept”? Every token sees all others here, even those that come later. The exercise on several heads has a causal layer as its bonus.
#
# ## Your layer beside the library's
#
# PyTorch has attention built in, `scaled_dot_product_attention`. It starts from queries, keys and values. Here your fused layer is taken apart into the three layers that it stands for. So you can also see that one wide layer does the work of three. The weights are those that your layer draws, and $(B, S, C) = (2, 5, 12)$.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = SingleHeadAttention(hidden_size=12)
#     x = torch.randn(2, 5, 12)
#     three_layers = zip(layer.Wqkv.weight.chunk(3), layer.Wqkv.bias.chunk(3))
#     projected = [nn.functional.linear(x, weight, bias) for weight, bias in three_layers]
#     return layer(x), layer.Wo(nn.functional.scaled_dot_product_attention(*projected))
#
#
# compare_with_library(yours_and_the_librarys, "scaled_dot_product_attention")

# %% [markdown] active="ipynb"
# ## Your layer learns
#
# So far, the weights were chosen by hand. Now a small model finds its own, in a few seconds. It is a Transformer of two blocks, and the attention in both is your layer. It reads six digits and six blanks: $(B, S, C) = (50, 12, 42)$. Watch the loss, and where each answer looks.

# %% active="ipynb"
# from autograder import train
#
# train("repeat", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# To repeat, an answer has to know *where* to look. To sort, it has to know *what* to look for. It is the same layer, with other weights.

# %% active="ipynb"
# train("sort", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# Now the model writes the sorted digits one after the other, as a GPT writes words. Look at the loss first, and then at what it writes. What went wrong?

# %% active="ipynb"
# train("write", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
