# %% [markdown]
# `torch_single_head.py` and `torch_single_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check create_projections

# %% [markdown]
# # Single-head attention in PyTorch
#
# This is the same layer as in NumPy, now as a PyTorch module. Its weights are parameters that an optimizer can train, and one linear layer makes queries, keys and values at once.
#
# You build it in small steps. Each step is one function, checked on its own inputs. A step that calls one that is wrong waits for it. In a course, it is then judged with a right one in its place, so one mistake costs one step. At the end the steps become a class, `SingleHeadAttention`.
#
# **Where the layer stands.** A transformer is a stack of blocks. In each, attention lets the tokens exchange, and then a small network (MLP) works on each token alone. Each part adds its result to what came in. What runs through is the **residual stream**:
#
# ```
# x ──┬───────────────(+)──┬─────────(+)── next block
#     └── attention ───┘   └── MLP ───┘
# ```
#
# Your layer has no mask: every token sees every other. So it belongs in an **encoder**, such as the Vision Transformer (ViT), which reads all of its input at once. A **decoder**, such as GPT, writes one token after the other and needs a causal mask. You wrote one in NumPy, and the next exercise has one as its bonus.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | for example | GPT-2 small | ViT-Base |
# |---|---|---|---|---|
# | `B` | batch: how many sequences at once | 2 | any | any |
# | `S` | sequence: how many tokens in each | 5 | up to 1024 | 197 |
# | `C` | hidden size: how many numbers describe one token | 12 | 768 | 768 |
# | `head_dim` | head size: how many numbers a query, key or value has | 3 | 64 | 64 |
#
# In multi-head attention a head is narrower than the hidden size. With a single head any width would do; here it is a quarter, `head_dim = C // 4`. The output has the shape of the input, `(B, S, C)`, since the block adds the two.
#
# **A sentence to follow.** In each step you first do the sums by hand, with the sentence and the weights of the NumPy exercise. So you know many of the numbers. Each word has its three numbers and nine zeros, so $(B, S, C) = (1, 7, 12)$ and `head_dim` is 3. Without the zeros:
#
# ```
# the      0  0  1
# cat      2  0  0
# slept    0  3  0
# because  0  1  1
# it       1  1  1
# was      0  1  0
# tired    1  1  0
# ```
#
# They say how much a word is a thing, how much it happens, and how much it leans on other words. They are made up; a model learns its own. Results are rounded to two places, and each step goes on with the rounded ones.
#
# **How to work.** Replace the line that raises `NotImplementedError`, run the cell, then run the check under it. The check shows what is right so far and the one thing to look at next. Think about the questions before you open their answers.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# In NumPy you multiplied by three matrices to get queries, keys and values. All three products begin with the same input. So three linear layers can be **fused** into one that is three times as wide.
#
# ```
#          x                        (B, S, C)
# →     1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** For a hidden size of 12, `head_dim` is 3. So `Wqkv` makes 9 numbers from 12: PyTorch keeps its weight as (out, in), here (9, 12). `Wo` makes 12 numbers from 3: its weight is (12, 3).
#
# **In general.**
#
# - `Wqkv`: from `hidden_size` to `3 * head_dim`
# - `Wo`: from `head_dim` back to `hidden_size`
# - `head_dim` is `hidden_size // 4`, in whole numbers.
#
# The bias is on by default, as in BERT, GPT-2 and ViT. `bias=False` leaves it out of both layers. The formula of the original paper has none. Later models such as PaLM and Cramming train without: that saves memory and time, and costs little.
#
# **Before you code.** How wide is `Wqkv` for a hidden size of 10?
# (The answer is at the end of this file.)


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * head_dim) and Wo (head_dim to C), where head_dim is C // 4.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")


# %% [markdown]
# **After the check.** How many weights would three separate layers have, and how many has `Wqkv`?
# (The answer is at the end of this file.)
#
# **Look at your own weights.** Make both layers for a hidden size of 64. Print the shape of each weight, and the smallest and the largest number in it. In the notebook, use the cell below. With the file, type into `python -i torch_single_head.py`. PyTorch draws them evenly between $-1/\sqrt{n}$ and $1/\sqrt{n}$, where $n$ is how many numbers go in. Which of the two layers has larger weights?

# %% [markdown]
# ## 2. Queries, keys and values
#
# The fused layer gives one long row per token. Now you take it apart into what the token looks for (query), what it offers for a match (key), and what it passes on (value).
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
# →     2  │ Wqkv: C to 3 * head_dim
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** “it” is (1, 1, 1), and nine zeros. `Wqkv` makes of it:
#
# ```
# 3, 1, 0   1, 1, 2   2, 1, 1
# query     key       value
# ```
#
# “it” looks for a thing: the first number of its query is the largest.
#
# **In general.** A reshape gives the 3 an axis of its own, and `unbind` takes the tensor apart along it:
#
# $$(B, S, 3 \cdot \mathit{head\_dim}) \;\to\; (B, S, 3, \mathit{head\_dim}) \;\to\; 3 \times (B, S, \mathit{head\_dim})$$
#
# The new axis stands **in front of** `head_dim`, because the numbers of one query lie next to each other.
#
# **Before you code.** Which of the numbers of “it” would be its key, if the new axis stood behind `head_dim`?
# (The answer is at the end of this file.)


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
    # YOUR CODE HERE
    raise NotImplementedError("project_qkv is not written yet")


# %% [markdown]
# **After the check.** Does the query of “it” depend on the other words?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 3. Attention scores
#
# Now queries meet keys: how well does key $j$ answer query $i$? Their dot product tells you. It is large when both have large numbers of the same sign in the same places: such tokens are related.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
# →     3  └────┬────┘        │
# →     3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** The query of “it” is (3, 1, 0), and the key of “cat” is (2, 0, 2). Their score is 3·2 + 1·0 + 0·2 = 6. The whole row of “it”:
#
# ```
#     the  cat  slept  because  it  was  tired
# it    0    6      3        1   4    1      4
# ```
#
# **In general.**
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# One matrix product for each sequence of the batch gives all pairs at once. The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis alone. The result is `(B, S, S)`: a row for each query and a column for each key.
#
# **Before you code.** How many scores does a sentence of 7 tokens have, and does `head_dim` matter for that?
# (The answer is at the end of this file.)


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B S head_dim"], keys: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, head_dim). keys: (B, S, head_dim).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")


# %% [markdown]
# **After the check.** “it” scores “cat” with 6. Does “cat” score “it” the same?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 4. Scaling
#
# Scores are sums, and a sum of more terms spreads wider. A dot product adds up `head_dim` products, so its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. Scores that lie far apart make the softmax put nearly all the weight on one token. Then its gradient all but vanishes, and training is slow.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
# →     4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** Here `head_dim` is 3, and its square root is 1.732. The score of “cat” becomes 6 / 1.732 = 3.46:
#
# ```
#         the   cat  slept  because    it   was  tired
# score     0     6      3        1     4     1      4
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
# ```
#
# **In general.**
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# What counts is the size of the **head**, not the hidden size, since that is what the dot product runs over. The shape stays `(B, S, S)`.
#
# **Before you code.** The numbers of queries and keys have a standard deviation of 1. How wide do scores spread for a `head_dim` of 64?
# (The answer is at the end of this file.)


# %%
def scale_scores(attention_scores: Float[Tensor, "B S S"], head_dim: int) -> Float[Tensor, "B S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")


# %% [markdown]
# **After the check.** What if you took the root of the hidden size, 12, instead?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 5. Attention weights
#
# Scores can be any numbers. To say “how much of each token”, they have to become shares that sum to 1. The softmax does that, row by row.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
# →     5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** The row of “it”:
#
# ```
#             the    cat  slept  because     it   was  tired
# scaled        0   3.46   1.73     0.58   2.31  0.58   2.31
# e to that     1  31.82   5.64     1.79  10.07  1.79  10.07
# share      0.02   0.51   0.09     0.03   0.16  0.03   0.16
# ```
#
# The second row sums to 62.18. Each share is its part of that sum. “cat” gets about half.
#
# **In general.**
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. Row $i$ says how token $i$ divides its attention among all tokens.
#
# **Before you code.** What has to sum to 1: what one query gives to all keys, or what one key gets from all queries?
# (The answer is at the end of this file.)


# %%
def compute_attention_weights(scaled_scores: Float[Tensor, "B S S"]) -> Float[Tensor, "B S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")


# %% [markdown]
# **After the check.** What would happen if the shares summed to 1 down each column?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 6. Weighted sum of the values
#
# The shares say how much of each token; the values are what there is to take. So each token adds up the values of all tokens, each times its share.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, S, head_dim)
#       7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** These are the values:
#
# ```
# the      0  0  1
# cat      4  0  0
# slept    0  3  0
# because  0  1  1
# it       2  1  1
# was      0  1  0
# tired    2  1  0
# ```
#
# For the first number of “it”:
#
# ```
# 0.02·0 + 0.51·4 + 0.09·0 + 0.03·0 + 0.16·2 + 0.03·0 + 0.16·2 = 2.68
# ```
#
# All three are (2.68, 0.65, 0.21). “it” has gathered mostly “thing”, from “cat”.
#
# **In general.**
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, S, S)` and values `(B, S, head_dim)` give one vector per token again, `(B, S, head_dim)`.
#
# **Before you code.** What does a token get that gives one key the weight 1? And one whose weights are all equal?
# (The answer is at the end of this file.)


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B S S"], values: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, head_dim).
    Returns attention_output: (B, S, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")


# %% [markdown]
# **After the check.** “cat” and “tired” change places. What changes for “it”?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 7. Output projection
#
# The gathered vectors are as narrow as the head, but the residual stream is as wide as the hidden size. `Wo` mixes their numbers and brings them back to that width.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  │ Wqkv: C to 3 * head_dim
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, S, S)
#       4     scaled scores   │     (B, S, S)
#       5     weights         │     (B, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, S, head_dim)
# →     7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** “it” has gathered (2.68, 0.65, 0.21). These are the first three rows of the weight of `Wo`; the others are zeros:
#
# ```
# Wo  1   1   0
#     0   1   0
#     0   0   2
# ```
#
# For the first number: 2.68·1 + 0.65·1 + 0.21·0 = 3.33. The result is (3.33, 0.65, 0.42), and nine zeros. The block adds it to “it” itself: (4.33, 1.65, 1.42).
#
# **In general.**
#
# $$(B, S, \mathit{head\_dim}) \;\to\; (B, S, C)$$
#
# The layer's output has the shape of its input, so the two can be added.
#
# **Before you code.** Why do you not add the gathered vectors to `x` as they are?
# (The answer is at the end of this file.)


# %%
def project_output(
    attention_output: Float[Tensor, "B S head_dim"], Wo: nn.Linear
) -> Float[Tensor, "B S C"]:
    """Project the gathered values back to the hidden size.

    attention_output: (B, S, head_dim). Wo: the linear layer from head_dim to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# **After the check.** `Wo` makes 12 numbers out of 3. Can the result be any 12 numbers?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 8. The whole layer
#
# All steps are there; the class joins them. It inherits from `nn.Module`, so PyTorch finds its parameters, trains them and saves them.
#
# ```
#          x                        (B, S, C)
# →     1  │ layers: Wqkv, Wo
# →     2  │ Wqkv: C to 3 * head_dim
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, S, head_dim)
# →     3  └────┬────┘        │
# →     3     scores          │     (B, S, S)
# →     4     scaled scores   │     (B, S, S)
# →     5     weights         │     (B, S, S)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, S, head_dim)
# →     7     Wo: head_dim to C     (B, S, C)
# ```
#
# **By hand.** “it” goes in as (1, 1, 1) and comes out as (3.35, 0.65, 0.41), if nothing is rounded on the way. The zeros stay zeros: here every bias is 0, and so are the other rows of `Wo`.
#
# **In general.** The class keeps the two layers as attributes `Wqkv` and `Wo`, and joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# They also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.
#
# A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# **Before you code.** What would happen if `forward` made the two layers anew in every call?
# (The answer is at the end of this file.)


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
        # YOUR CODE HERE
        raise NotImplementedError("SingleHeadAttention.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("SingleHeadAttention.forward is not written yet")


# %% [markdown]
# **After the check.** A text becomes twice as long. How many times as many scores are there?
# (The answer is at the end of this file.)
#
# **Write a first test of your own.** Make a layer with a hidden size of 64, and give it a batch of 2 sequences with 10 random tokens each. Does the output have the shape of the input? Sum the output, send the gradient back, and look at each parameter: does it have one that is not 0 everywhere?

# %% [markdown]
# ## The answers
#
# Think about each question before you read on.
#
# ### 1. The projections
#
# **Before you code.** How wide is `Wqkv` for a hidden size of 10?
#
# It is 6 wide. `head_dim` is 2, with a remainder of 2, and 3 times 2 is 6. Dividing last instead (`10 * 3 // 4` is 7) would give a width that cannot be cut into three.
#
# **After the check.** How many weights would three separate layers have, and how many has `Wqkv`?
#
# Both have 108, for a hidden size of 12. The numbers that come out are the same, too. There is only one matrix product in place of three.
#
# ### 2. Queries, keys and values
#
# **Before you code.** Which of the numbers of “it” would be its key, if the new axis stood behind `head_dim`?
#
# Every third number, from the second on: (1, 1, 1). That mixes query, key and value. The key is (1, 1, 2).
#
# **After the check.** Does the query of “it” depend on the other words?
#
# No. A linear layer works on each token alone. The words meet in the next step.
#
# ### 3. Attention scores
#
# **Before you code.** How many scores does a sentence of 7 tokens have, and does `head_dim` matter for that?
#
# It has 49, one for each pair. `head_dim` does not matter: the dot product sums over it, so it is gone from the shape.
#
# **After the check.** “it” scores “cat” with 6. Does “cat” score “it” the same?
#
# No, with 2. There the query of “cat” meets the key of “it”. Rows and columns of the scores are not the same thing.
#
# ### 4. Scaling
#
# **Before you code.** The numbers of queries and keys have a standard deviation of 1. How wide do scores spread for a `head_dim` of 64?
#
# Their standard deviation is $\sqrt{64} = 8$. After scaling it is 1, for every `head_dim`.
#
# **After the check.** What if you took the root of the hidden size, 12, instead?
#
# All scores would be too close to 0, and the shares too much alike. “cat” would get 0.31 of the attention of “it” in place of 0.51.
#
# ### 5. Attention weights
#
# **Before you code.** What has to sum to 1: what one query gives to all keys, or what one key gets from all queries?
#
# What one query gives: it has one whole attention to divide. A key may get much or little.
#
# **After the check.** What would happen if the shares summed to 1 down each column?
#
# Then the shares of “it”, rounded, would sum to 1.50. A word that everybody else ignores would still have to be looked at. No error would tell you: the shape is the same.
#
# ### 6. Weighted sum of the values
#
# **Before you code.** What does a token get that gives one key the weight 1? And one whose weights are all equal?
#
# The first gets the value of that key, and nothing else. The second gets the mean of all values.
#
# **After the check.** “cat” and “tired” change places. What changes for “it”?
#
# Nothing, as long as their numbers stay the same: a sum has no order. That is why the position is added to the embedding, before the first block.
#
# ### 7. Output projection
#
# **Before you code.** Why do you not add the gathered vectors to `x` as they are?
#
# Their last axis is `head_dim`, and that of `x` is `C`. Only tensors of one shape can be added number by number.
#
# **After the check.** `Wo` makes 12 numbers out of 3. Can the result be any 12 numbers?
#
# No: it is a mix of the three columns of the weight, plus the bias. One narrow head can only say so much, which is a reason to have several.
#
# ### 8. The whole layer
#
# **Before you code.** What would happen if `forward` made the two layers anew in every call?
#
# Each call would draw new random weights. The optimizer would never see them, so the layer could not learn.
#
# **After the check.** A text becomes twice as long. How many times as many scores are there?
#
# Four times as many: $(2S)^2 = 4S^2$. That is why long texts are costly for a transformer.
