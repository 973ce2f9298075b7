# %% [markdown]
# `torch_multi_head.py` and `torch_multi_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check create_projections

# %% [markdown]
# # Multi-head attention in PyTorch
#
# This is the same layer as with a single head, but now several heads look at the tokens at the same time. Each works in its own part of the hidden size. One head may follow which word a pronoun stands for, while another follows word order.
#
# **Why several heads?** In a single head, a token has one row of shares, which sum to 1. Whatever it gives to one word, it takes from the others. So a single head would have to mix what it looks for. With several heads, a token has a row of shares in each. It can look for several things at once, and relies less on any one of them.
#
# Several heads cost no more weights than one that is as wide as all of them together.
#
# You build it in small steps. Each step is one function, checked on its own inputs. A step that calls one that is wrong waits for it. In a course, it is then judged with a right one in its place, so one mistake costs one step. At the end the steps become a class, `MultiHeadAttention`. Get each step right before you go on.
#
# **Where the layer stands.** A transformer is a stack of blocks. In each block, attention lets the tokens exchange, and then a small network (MLP) works on each token alone. In GPT-2 and in a Vision Transformer (ViT), a norm before each part brings the numbers of each token to the same spread:
#
# ```
# tokens + positions ──┬────────────────────(+)──┬──────────────(+)── next block
#                      └─ norm ── attention ─┘   └─ norm ── MLP ─┘
# ```
#
# Each part **adds** its result to what came in. The line that runs through is called the **residual stream**. You can only add tensors of the same shape, so the layer's output has the shape of its input.
#
# **Encoder and decoder.** An encoder reads all of its input at once, and every token sees every other. A ViT is one: its tokens are patches of an image. The layer of step 9 is made for encoders: it has no mask. A decoder writes one token after the other, so no token may see a later one. GPT is one, and step 10 adds the mask that it needs. The mask is **optional**, since only a decoder needs it.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | by hand | in most examples | Transformer | GPT-2 small | ViT-B/16 |
# |---|---|---|---|---|---|---|
# | `B` | batch: how many sequences at once | 1 | 3 | any | any | any |
# | `S` | sequence: how many tokens in each | 7 | 5 | any | up to 1024 | 197 |
# | `C` | hidden size: how many numbers describe one token | 6 | 8 | 512 | 768 | 768 |
# | `heads` | heads: how many there are | 2 | 2 | 8 | 12 | 12 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 3 | 4 | 64 | 64 | 64 |
#
# The sizes of the Transformer are from “Attention Is All You Need” (2017). Those of ViT-B/16 are from “An Image Is Worth 16x16 Words” (2020), and those of GPT-2 from its code (2019). GPT-2 small and ViT-B/16 have 12 blocks each.
#
# The heads share the hidden size evenly, `head_dim = C // heads`, so their number has to divide it. With a remainder, some numbers would belong to no head.
#
# **A sentence to follow.** In each step you first do the sums by hand, for one sentence of 7 words with six made-up numbers each. Three say how much a word is a thing, how much it happens, and how much it leans on others. Three say where it stands: in the first part, between the parts, or in the second part:
#
# ```
#           what it is  where it is
# the          0  0  1      1  0  0
# cat          2  0  0      1  0  0
# slept        0  3  0      1  0  0
# because      0  1  1      0  1  0
# it           1  1  1      0  0  1
# was          0  1  0      0  0  1
# tired        1  1  0      0  0  1
# ```
#
# There are two heads. The first, head 0, asks what a word is: it is the single head of the NumPy exercise, without its mask. The second, head 1, asks where a word stands. Results are rounded to two places, and each step goes on with the rounded ones. To keep it short, you mostly follow “it”.
#
# **How to work.** Replace the line that raises `NotImplementedError`, run the cell (Shift+Enter), then run the check under it. The check shows what is right so far and the one thing to look at next. Change your code and run both cells as often as you like. Think about the questions before you open their answers.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# Every token needs a query, a key and a value in every head. All of them are made from the token's vector, by linear layers. So the layers come first.
#
# ```
#          x                        (B, S, C)
# →     1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** “it” is (1, 1, 1, 0, 0, 1), and the first row of the weights of `Wqkv` is (0, 1, 2, 0, 0, 0). Together they give the first number of a query: 1·0 + 1·1 + 1·2 + 0·0 + 0·0 + 1·0 = 3. (Here every bias is 0.) `Wqkv` has 18 such rows, and each reads the whole word. The heads share what comes out, not what goes in.
#
# **In general.** Three linear layers, for queries, keys and values, can be **fused** into one that is three times as wide. The same is true of the heads: the layers of all heads, side by side, are one layer. `Wqkv` is that layer. `Wo` mixes what the heads have gathered.
#
# - `Wqkv`: from `hidden_size` to `3 * hidden_size`
# - `Wo`: from `hidden_size` to `hidden_size`
#
# The bias is on by default, as in BERT, GPT-2 and ViT. `bias=False` leaves it out of both layers, as the formula of the original paper does; several models do so at little cost.
#
# **Before you code.** The hidden size is 8. How many numbers does the fused layer give per token with 2 heads, and how many with 4?
# (The answer is at the end of this file.)


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")


# %% [markdown]
# **After the check.** Can the fused layer learn less than three separate ones?
# (The answer is at the end of this file.)
#
# **Look at your own weights.** Make the two layers for a hidden size of 64, and look at them: their shapes, their smallest and their largest weight. Guess first. In the notebook, use the cell below. With the file, type into `python -i torch_multi_head.py`. PyTorch has a row for each number that comes out, so `Wqkv.weight` is `(192, 64)`. All weights lie within $1/\sqrt{64} = 0.125$ of 0, and every number there is equally likely.

# %% [markdown]
# ## 2. Queries, keys and values, split into heads
#
# The fused layer gives every token one long row of numbers. Each head needs its queries, keys and values apart from those of the others.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** The row of “it” has 18 numbers: its query, then its key, then its value. In each of them, one head follows the other:
#
# ```
#           head 0     head 1
# query    3  1  0    0  1  2
# key      1  1  2    0  0  1
# value    2  1  1    1  1  1
# ```
#
# **In general.** A reshape gives the 3 and the heads an axis each. Then the sequence axis and the head axis change places, so the heads stand beside the batch. There a matrix product runs for every head by itself. Last, the tensor comes apart along the 3:
#
# ```
#   (B, S, 3 * C)
# → (B, S, 3, heads, head_dim)
# → (B, heads, 3, S, head_dim)
# → (B, heads, S, head_dim), three times
# ```
#
# - A **reshape** moves nothing here. It reads the same numbers in the same order, and cuts them up differently.
# - A **transpose** makes two axes change places. It moves nothing in memory, but changes the order in which the numbers are read.
# - **`unbind`** gives a tensor for each place along one axis. All of them look at the same memory.
#
# **Before you code.** You reshape the queries straight to (heads, S, head_dim). What does head 0 get for “cat”?
# (The answer is at the end of this file.)


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
# **After the check.** How many numbers were copied to split the heads?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 3. Attention scores
#
# Each head has its queries and keys, and compares them on its own: how well does key $j$ answer query $i$? Their dot product tells you.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
# →     3  └────┬────┘        │
# →     3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** In the first head, the query of “it” is (3, 1, 0) and the key of “cat” is (2, 0, 2). Their score is 3·2 + 1·0 + 0·2 = 6. In the second head, “it” meets “was”: 0·0 + 1·0 + 2·1 = 2. Both rows of “it”:
#
# ```
#         the  cat  slept  because  it  was  tired
# head 0    0    6      3        1   4    1      4
# head 1    0    0      0        1   2    2      2
# ```
#
# The first head asks what a word is, and finds “cat”. The second finds the words nearby.
#
# **In general.** One matrix product for each head and sequence gives all pairs at once:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis and the head axis alone. So keys become `(B, heads, head_dim, S)`. The result is `(B, heads, S, S)`: in every head, a row for each query and a column for each key.
#
# **Before you code.** How many scores does this sentence have, in both heads together?
# (The answer is at the end of this file.)


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
# **After the check.** Does a query of head 0 ever meet a key of head 1?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 4. Scaling
#
# Scores are sums, and a sum of more terms spreads wider. A dot product adds up `head_dim` products, so its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. In a wide head, the softmax would then put nearly all the weight on one token, and its gradient would all but vanish.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
# →     4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** In each head, a query has 3 numbers, and the square root of that is 1.732. In the first head, the score of “cat” becomes 6 / 1.732 = 3.46. Both rows of “it”:
#
# ```
#         the   cat  slept  because    it   was  tired
# head 0    0  3.46   1.73     0.58  2.31  0.58   2.31
# head 1    0     0      0     0.58  1.15  1.15   1.15
# ```
#
# **In general.**
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# What counts is the size of the **head**, not the hidden size, since that is what the dot product runs over. With several heads, it is easy to mistake one for the other. The shape stays `(B, heads, S, S)`.
#
# **Before you code.** A model doubles both its hidden size and its number of heads. By what are the scores divided now?
# (The answer is at the end of this file.)


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
# **After the check.** What would happen if you divided by the root of the hidden size?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 5. Attention weights
#
# Scores say who fits, but not how much to take from each. The softmax turns each row of scores into shares that sum to 1. They are the attention weights.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
# →     5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** The row of “it” in the second head, step by step:
#
# ```
#                     the    cat  slept  because    it   was  tired
# score                 0      0      0     0.58  1.15  1.15   1.15
# less the largest  -1.15  -1.15  -1.15    -0.57     0     0      0
# e to that          0.32   0.32   0.32     0.57     1     1      1
# share              0.07   0.07   0.07     0.13  0.22  0.22   0.22
# ```
#
# The third row sums to 4.53, and each share is its part of that. Now both heads:
#
# ```
#          the   cat  slept  because    it   was  tired
# head 0  0.02  0.51   0.09     0.03  0.16  0.03   0.16
# head 1  0.07  0.07   0.07     0.13  0.22  0.22   0.22
# ```
#
# The first head gives “cat” more than half. The second divides most of its attention among the words nearby.
#
# **In general.**
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. In every head, row $i$ says how token $i$ divides its attention among all tokens.
#
# **Before you code.** How many rows of shares does “it” have?
# (The answer is at the end of this file.)


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
# **After the check.** What would happen if the softmax ran along the head axis?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 6. Weighted sum of the values
#
# The shares say how much of each token; the values are what there is to take. So in every head, each token adds up the values of all tokens, each times its share.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** In the first head, these are the values and the shares of “it”:
#
# ```
#         the   cat  slept  because    it   was  tired
# value     0     4      0        0     2     0      2
#           0     0      3        1     1     1      1
#           1     0      0        1     1     0      0
# share  0.02  0.51   0.09     0.03  0.16  0.03   0.16
# ```
#
# For the first number: 0.02·0 + 0.51·4 + 0.09·0 + 0.03·0 + 0.16·2 + 0.03·0 + 0.16·2 = 2.68. In the first head “it” gathers (2.68, 0.65, 0.21), mostly from “cat”. In the second it gathers (0.58, 1, 0.42).
#
# **In general.**
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, heads, S, S)` and values `(B, heads, S, head_dim)` give one narrow vector per token and head, `(B, heads, S, head_dim)`. What the heads have gathered is not mixed yet.
#
# **Before you code.** In all heads together, how many numbers does a token gather?
# (The answer is at the end of this file.)


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
# **After the check.** Can a head look at one thing and pass on another?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 7. Merging the heads
#
# Each token now has a piece from every head. What follows needs one vector per token again, with the pieces side by side.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
# →     7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** “it” has gathered (2.68, 0.65, 0.21) in the first head and (0.58, 1, 0.42) in the second. Merged, that is (2.68, 0.65, 0.21, 0.58, 1, 0.42): from `(1, 2, 7, 3)` to `(1, 7, 6)`.
#
# **In general.** It is the way back from splitting:
#
# ```
#   (B, heads, S, head_dim)
# → (B, S, heads, head_dim)
# → (B, S, C)
# ```
#
# First the head axis goes back behind the sequence axis, then the last two axes become one. Without the first move the shape is still right, but a token then holds numbers of other tokens. The layer would even train, only worse. A look at the shapes cannot find that error.
#
# After a transpose, neighbors along the axes no longer lie side by side in memory: the tensor is not **contiguous**. A `view` never copies, so it refuses to join such axes. A `reshape` makes a copy in the right order where it needs one.
#
# **Before you code.** You reshape without the first move. What does the first word, “the”, get?
# (The answer is at the end of this file.)


# %%
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")


# %% [markdown]
# **After the check.** Why did splitting the heads need no copy, when merging does?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors, the heads stand side by side, and none knows what another has found. One last layer, `Wo`, mixes them.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
#      10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
# →     8     output projection     (B, S, C)
# ```
#
# **By hand.** “it” has gathered (2.68, 0.65, 0.21, 0.58, 1, 0.42), and the first row of the weights of `Wo` is (1, 0, 0, 1, 0, 0). It adds what both heads found: 2.68·1 + 0.65·0 + 0.21·0 + 0.58·1 + 1·0 + 0.42·0 = 3.26. The result is (3.26, 1.65, 0.63, 0, 0, 0).
#
# The block then adds it to “it”, (1, 1, 1, 0, 0, 1). In the residual stream, “it” goes on as (4.26, 2.65, 1.63, 0, 0, 1).
#
# **In general.**
#
# $$\text{result} = \text{merged}\; W_O^\top + b_O$$
#
# The transpose and the bias are what a linear layer of PyTorch does when it is called. Every number that comes out can depend on all heads. The shape stays `(B, S, C)`.
#
# **Before you code.** Without this last layer, which heads could the first number of the result depend on?
# (The answer is at the end of this file.)


# %%
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# **After the check.** Why does the result have to have as many numbers per token as the input?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 9. The whole layer
#
# All steps are there. The class keeps the two layers as attributes `Wqkv` and `Wo`, so that PyTorch finds their parameters, and joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# ```
#          x                        (B, S, C)
# →     1  │ layers: Wqkv, Wo
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, heads, S, head_dim)
# →     3  └────┬────┘        │
# →     3     scores          │     (B, heads, S, S)
# →     4     scaled scores   │     (B, heads, S, S)
# →    10     masked (bonus)  │
# →     5     weights         │     (B, heads, S, S)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, heads, S, head_dim)
# →     7        merged heads       (B, S, C)
# →     8     output projection     (B, S, C)
# ```
#
# **By hand.** “it” goes in as (1, 1, 1, 0, 0, 1) and comes out as (3.28, 1.65, 0.62, 0, 0, 0), if nothing is rounded on the way.
#
# **In general.** $(B, S, C)$ goes in and comes out. The heads share the hidden size evenly. If the number of heads does not divide it, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.
#
# A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# **Before you code.** Which numbers of heads can share a hidden size of 6?
# (The answer is at the end of this file.)


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
# **After the check.** You put the words of a sentence into another order, each with its own numbers. What changes in the output?
# (The answer is at the end of this file.)
#
# **Write a first test of your own.** Make a layer with 8 numbers per token and 2 heads, and give it 2 random sequences of 4 tokens. Does the output have the shape of the input, `(2, 4, 8)`?
#
# Then call the steps one by one. The fused layer gives `(2, 4, 24)`. Cut up, that is `(2, 4, 3, 2, 4)`, and with the heads beside the batch `(2, 2, 3, 4, 4)`. Queries, keys and values are `(2, 2, 4, 4)` each. Are the weights between 0 and 1, and does each row sum to 1? Here `S` and `head_dim` are both 4, so a mix-up of these axes would not show. Try 5 tokens, too.

# %% [markdown]
# ## 10. Bonus: the causal layer
#
# So far every token sees all others, as in an encoder. A decoder predicts the next token, and looking at it would be cheating. So token $i$ may gather only from itself and the tokens before it.
#
# ```
#          x                        (B, S, C)
#       1  │ layers: Wqkv, Wo
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, heads, S, head_dim)
#       3  └────┬────┘        │
#       3     scores          │     (B, heads, S, S)
#       4     scaled scores   │     (B, heads, S, S)
# →    10     masked (bonus)  │
#       5     weights         │     (B, heads, S, S)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, S, head_dim)
#       7        merged heads       (B, S, C)
#       8     output projection     (B, S, C)
# ```
#
# **By hand.** In the first head, “it” may no longer see “was” and “tired”:
#
# ```
#           the   cat  slept  because    it   was  tired
# scaled      0  3.46   1.73     0.58  2.31  0.58   2.31
# masked      0  3.46   1.73     0.58  2.31  -1e9   -1e9
# weights  0.02  0.63   0.11     0.04  0.20     0      0
# ```
#
# **In general.** The layer stays the same, but for one thing. Before the softmax, the scores of later tokens become negative infinity, so that their share is $e^{-\infty} = 0$.
#
# $$\text{masked scores}_{ij} = \begin{cases} \text{scaled scores}_{ij} & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}$$
#
# In `float32`, a number such as `-1e9` works as well as infinity. It does not fit into `float16`. However long the sequence is, the mask has to fit.
#
# The class builds on yours: it has the same `__init__` and the same two layers. You only write a new `forward`. Without `causal=True`, it does what `MultiHeadAttention` does.
#
# **Before you code.** How many masks do two heads and a batch of three sequences need?
# (The answer is at the end of this file.)


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


# %% [markdown]
# **After the check.** With the mask and without it, which word of the sentence gets the same result?
# (The answer is at the end of this file.)

# %% [markdown]
# ## The answers
#
# Think about each question before you read on.
#
# ### 1. The projections
#
# **Before you code.** The hidden size is 8. How many numbers does the fused layer give per token with 2 heads, and how many with 4?
#
# It gives 24, both times. The number of heads does not matter here: all heads together are as wide as the hidden size.
#
# **After the check.** Can the fused layer learn less than three separate ones?
#
# No. Each number that comes out has its own row of weights and its own bias, as before. There is one large matrix product in place of three, and that is all.
#
# ### 2. Queries, keys and values, split into heads
#
# **Before you code.** You reshape the queries straight to (heads, S, head_dim). What does head 0 get for “cat”?
#
# It gets (2, 1, 0): what head 1 should get for “the”. The shape is right and the numbers are wrong. Only a transpose makes axes change places.
#
# **After the check.** How many numbers were copied to split the heads?
#
# None, if you used a reshape, a transpose and `unbind`. All three tensors look at the numbers that the fused layer made.
#
# ### 3. Attention scores
#
# **Before you code.** How many scores does this sentence have, in both heads together?
#
# It has 98: in each of 2 heads, 7 queries meet 7 keys.
#
# **After the check.** Does a query of head 0 ever meet a key of head 1?
#
# No. A matrix product runs over the last two axes and leaves those in front apart, batch and heads. The heads meet later, in the output projection.
#
# ### 4. Scaling
#
# **Before you code.** A model doubles both its hidden size and its number of heads. By what are the scores divided now?
#
# By the same number as before. The heads are as wide as they were, and only their width counts.
#
# **After the check.** What would happen if you divided by the root of the hidden size?
#
# The shares would come out flatter: “cat” would get 0.40 in place of 0.51 in head 0. No error would tell you.
#
# ### 5. Attention weights
#
# **Before you code.** How many rows of shares does “it” have?
#
# It has 2, one in each head, and each sums to 1. In a single head it would have one row for everything.
#
# **After the check.** What would happen if the softmax ran along the head axis?
#
# The heads would compete. For “it” and “cat”, head 0 would get 0.97 and head 1 0.03, and no row would be shared among the words.
#
# ### 6. Weighted sum of the values
#
# **Before you code.** In all heads together, how many numbers does a token gather?
#
# It gathers `heads * head_dim` numbers. That is `C`, as many as it had at the start.
#
# **After the check.** Can a head look at one thing and pass on another?
#
# Yes. Its values have weights of their own. Here head 1 looks at where a word stands, but its values say what the word is.
#
# ### 7. Merging the heads
#
# **Before you code.** You reshape without the first move. What does the first word, “the”, get?
#
# It gets (2.56, 0.55, 0.25, 0.36, 2.32, 0.16). That is what “the” and “cat” have gathered, both in head 0.
#
# **After the check.** Why did splitting the heads need no copy, when merging does?
#
# Splitting began with a reshape of numbers in order. Here the two pieces of a token begin 21 numbers apart in memory. In the merged vector they have to be side by side, so somebody has to move them.
#
# ### 8. Output projection
#
# **Before you code.** Without this last layer, which heads could the first number of the result depend on?
#
# Only on head 0, whose numbers stand first.
#
# **After the check.** Why does the result have to have as many numbers per token as the input?
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# ### 9. The whole layer
#
# **Before you code.** Which numbers of heads can share a hidden size of 6?
#
# 1, 2, 3 and 6. The heads then have 6, 3, 2 or 1 numbers each. With 4 heads, 2 numbers would be left over.
#
# **After the check.** You put the words of a sentence into another order, each with its own numbers. What changes in the output?
#
# Only the order of its rows. The layer itself does not see any order: a token knows its place only if its numbers say so. That is why positions are added to the tokens.
#
# ### 10. Bonus: the causal layer
#
# **Before you code.** How many masks do two heads and a batch of three sequences need?
#
# One, `(S, S)`. Who may see whom depends on the places alone, and they are the same in every head and every sequence.
#
# **After the check.** With the mask and without it, which word of the sentence gets the same result?
#
# The last one, “tired”: it sees every word in both cases.
