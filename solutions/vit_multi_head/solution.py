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
    ### BEGIN SOLUTION
    q_linear = nn.Linear(hidden_dim, hidden_dim)
    k_linear = nn.Linear(hidden_dim, hidden_dim)
    v_linear = nn.Linear(hidden_dim, hidden_dim)
    out_linear = nn.Linear(hidden_dim, hidden_dim)
    return q_linear, k_linear, v_linear, out_linear
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    queries = q_linear(x)
    keys = k_linear(x)
    values = v_linear(x)
    return queries, keys, values
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    B, N, D = projected.shape
    return projected.view(B, N, num_heads, D // num_heads).permute(0, 2, 1, 3)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    attention_scores = queries @ keys.transpose(-2, -1)
    return attention_scores / math.sqrt(keys.shape[-1])
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
    scaled_scores: Float[Tensor, "B heads N N"],
) -> Float[Tensor, "B heads N N"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, N, N).
    Returns attention_weights: (B, heads, N, N), each row along the last axis sums to 1.
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
# Weights `(B, heads, N, N)` and values `(B, heads, N, head_dim)` give one narrow vector per token and head, `(B, heads, N, head_dim)`. What the heads have gathered is not mixed yet.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads N N"], values: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, N, N). values: (B, heads, N, head_dim).
    Returns attention_output: (B, heads, N, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    token_by_token = attention_output.permute(0, 2, 1, 3).contiguous()
    B, N, heads, head_dim = token_by_token.shape
    return token_by_token.view(B, N, heads * head_dim)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return out_linear(merged)
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        assert hidden_dim % num_heads == 0, f"{num_heads} heads cannot share {hidden_dim} evenly"
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_linear, self.k_linear, self.v_linear, self.out_linear = create_projections(
            hidden_dim
        )
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        """Let every token gather from the others, in every head.

        x: (B, N, D). Returns the new token vectors: (B, N, D).
        """
        ### BEGIN SOLUTION
        queries, keys, values = project_qkv(x, self.q_linear, self.k_linear, self.v_linear)
        queries = split_heads(queries, self.num_heads)
        keys = split_heads(keys, self.num_heads)
        values = split_heads(values, self.num_heads)
        scaled_scores = compute_scaled_scores(queries, keys)
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        merged = merge_heads(attention_output)
        return project_output(merged, self.out_linear)
        ### END SOLUTION


# %% [markdown] active="ipynb"
# ## Your layer looks at a picture
#
# There are no more steps and no more points: the cells from here on show what you have built. They give your layer weights that are chosen by hand instead of drawn, so that you can see what each head does with them.
#
# The picture has six patches, and in front of them stands the class token:
#
# | | left | middle | right |
# |---|---|---|---|
# | **top** | sky | sun | sky |
# | **bottom** | grass | cow | grass |
#
# Each token has 16 numbers. The first five say what it is. The next seven are its position, with a 1 at its place, and the rest are 0. The two heads look at different parts of them:
#
# - **Head 0** looks at what a token is. Sky looks for sky, grass for grass, and the cow for grass. The class token looks for what stands out, sun and cow. The sun looks for nothing, so it looks everywhere alike.
# - **Head 1** looks at the positions: every patch looks for its neighbors on the left and on the right.
#
# The value of a token is its position and nothing else, in both heads. So what a token gathers is itself the list of shares. The output holds the attention weights of head 0 and, beside them, those of head 1.
#
# $$(B, N, D) = (1, 7, 16) \qquad \mathit{heads} = 2 \qquad \mathit{head\_dim} = 8$$

# %% active="ipynb"
# from autograder import show_attention
#
# tokens = ["[class]", "sky", "sun", "sky", "grass", "cow", "grass"]
#
#
# def attention_on_the_picture():
#     kinds = torch.eye(5)
#     names = ["[class]", "sky", "sun", "grass", "cow"]
#     class_token, sky, sun, grass, cow = kinds
#     positions = torch.eye(7)
#     x = torch.zeros(1, 7, 16)
#     x[0, :, :5] = torch.stack([kinds[names.index(token)] for token in tokens])
#     x[0, :, 5:12] = positions
#     looks_for = torch.stack([sun + cow, sky, torch.zeros(5), grass, grass])
#     beside = torch.zeros(7, 7)
#     for one, other in [(1, 2), (2, 3), (4, 5), (5, 6)]:
#         beside[one, other] = beside[other, one] = 1
#
#     layer = MultiHeadSelfAttention(hidden_dim=16, num_heads=2)
#     with torch.no_grad():
#         for parameter in layer.parameters():
#             parameter.zero_()
#         layer.q_linear.weight[:5, :5] = 7 * looks_for.T  # rows 0 to 7 belong to head 0
#         layer.k_linear.weight[:5, :5] = kinds
#         layer.q_linear.weight[8:15, 5:12] = 7 * beside
#         layer.k_linear.weight[8:15, 5:12] = positions
#         layer.v_linear.weight[:7, 5:12] = positions
#         layer.v_linear.weight[8:15, 5:12] = positions
#         layer.out_linear.weight.copy_(torch.eye(16))
#         output = layer(x)[0]
#     return {"head 0: what it is": output[:, :7], "head 1: where it is": output[:, 8:15]}
#
#
# show_attention(attention_on_the_picture, tokens)

# %% [markdown] active="ipynb"
# Read it row by row: what does a patch of sky look at in head 0, and what in head 1? Head 0 finds the other patch of sky wherever it stands; head 1 finds a neighbour whatever it shows.
#
# ## Your layer beside the library's
#
# PyTorch has this layer built in: `nn.MultiheadAttention`. It keeps the weights for queries, keys and values in one tensor, `in_proj_weight`, one below the other. It calls the output layer `out_proj`. With the weights of your layer, it should give the same numbers, up to rounding. Here $(B, N, D) = (2, 5, 12)$, with 3 heads.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = MultiHeadSelfAttention(hidden_dim=12, num_heads=3)
#     three_layers = [layer.q_linear, layer.k_linear, layer.v_linear]
#     library = nn.MultiheadAttention(12, 3, batch_first=True)
#     with torch.no_grad():
#         library.in_proj_weight.copy_(torch.cat([each.weight for each in three_layers]))
#         library.in_proj_bias.copy_(torch.cat([each.bias for each in three_layers]))
#         library.out_proj.weight.copy_(layer.out_linear.weight)
#         library.out_proj.bias.copy_(layer.out_linear.bias)
#     x = torch.randn(2, 5, 12)
#     return layer(x), library(x, x, x, need_weights=False)[0]
#
#
# compare_with_library(yours_and_the_librarys, "nn.MultiheadAttention")

# %% [markdown] active="ipynb"
# ## Your layer learns to read
#
# So far, the weights were chosen by hand. Now a small vision transformer finds its own, in about ten seconds. It has two blocks, and the attention in both is your layer, with three heads. It reads pictures of digits, $12 \times 12$ pixels in 16 patches, with a class token in front: $(B, N, D) = (50, 17, 42)$. A program draws the pictures, turned, stretched, moved and noisy. Watch the loss, and where the class token looks.

# %% active="ipynb"
# from autograder import train
#
# train("digits", lambda hidden_dim: MultiHeadSelfAttention(hidden_dim, num_heads=3))

# %% [markdown] active="ipynb"
# Be careful with such a number. That many digits come out right does not say that a layer is right: the list below says how many mistakes cannot be seen from it.

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
