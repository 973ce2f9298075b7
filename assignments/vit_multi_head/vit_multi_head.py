# %% [markdown]
# `vit_multi_head.py` and `vit_multi_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check create_projections

# %% [markdown]
# # Multi-head attention of a vision transformer in PyTorch
#
# A Vision Transformer (ViT) cuts an image into patches and treats them as the tokens of a sequence. One more token stands in front of them: the **class token**, which gathers what the whole image shows. The attention has several **heads**. Each works on its own slice of the token vectors.
#
# **Why several heads?** In a single head, a token has one row of shares, which sum to 1. Whatever it gives to one patch, it takes from the others. With several heads, it has a row of shares in each. So the class token can ask in one head what stands out, and in another what is at the bottom.
#
# You build it in small steps. Each step is one function, checked on its own inputs. A step that calls one that is wrong waits for it. In a course, it is then judged with a right one in its place, so one mistake costs one step. At the end the steps become a class, `MultiHeadSelfAttention`. Get each step right before you go on.
#
# **Where the layer stands.** A linear layer turns the pixels of each patch into a token. The class token, which is learned, comes in front. Positions are added, and then follows a stack of blocks. In each block, attention lets the tokens exchange, and then a small network (MLP) works on each token alone. A norm before each part brings the numbers of each token to the same spread:
#
# ```
# patches ── linear layer ─┐
#                          ├─ + positions ── block ── block ── …
# class token ─────────────┘
#
# one block:   ──┬────────────────────(+)──┬──────────────(+)── next block
#                └─ norm ── attention ─┘   └─ norm ── MLP ─┘
# ```
#
# Each part **adds** its result to what came in. The line that runs through is called the **residual stream**. You can only add tensors of the same shape, so the layer's output has the shape of its input. After the last block, one more layer reads the class token alone, and says what the image shows.
#
# **Encoder and decoder.** A ViT is an encoder: all patches are there at once, and every token sees every other. So this layer has no mask. A decoder, such as GPT, writes one token after the other, and no token may see a later one. Only there is a mask needed; apart from that, the layer is the same.
#
# **The shapes.** The axes of every tensor have names, and the same names stand in the signatures:
#
# | name | axis | by hand | in most examples | ViT-B/16 | ViT-L/16 | GPT-2 small |
# |---|---|---|---|---|---|---|
# | `B` | batch: how many images at once | 1 | 3 | any | any | any |
# | `N` | tokens: how many in each image, the patches and the class token | 5 | 5 | 197 | 197 | up to 1024 |
# | `D` | hidden dimension: how many numbers describe one token | 6 | 8 | 768 | 1024 | 768 |
# | `heads` | heads: how many there are | 2 | 2 | 12 | 16 | 12 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 3 | 4 | 64 | 64 | 64 |
#
# ViT-B/16 cuts an image of 224 × 224 pixels into 14 × 14 patches of 16 × 16 pixels. With the class token, that makes 197 tokens. It has 12 blocks, and ViT-L/16 has 24. The sizes stand in “An Image Is Worth 16x16 Words” (2020) and in the code of GPT-2 (2019).
#
# The heads share the hidden dimension evenly, `head_dim = D // heads`, so their number has to divide it. With a remainder, some numbers would belong to no head.
#
# **A picture to follow.** In each step you first do the sums by hand, for a picture of four patches. Sky and sun are at the top, grass and cow at the bottom:
#
# | | left | right |
# |---|---|---|
# | **top** | sky | sun |
# | **bottom** | grass | cow |
#
# Each token has six made-up numbers. Three say what it is: the class token, how bright, and how much it stands out. Three say where it is: left, right, low.
#
# ```
#           what it is  where it is
# [class]      1  0  0      0  0  0
# sky          0  2  0      1  0  0
# sun          0  3  2      0  1  0
# grass        0  1  0      1  0  1
# cow          0  0  2      0  1  1
# ```
#
# There are two heads. The first, head 0, asks what a token is. The second, head 1, asks where it is. Results are rounded to two places, and each step goes on with the rounded ones. To keep it short, you mostly follow the class token.
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
# A token needs a query (what it looks for), a key (what it offers for a match) and a value (what it passes on). Linear layers make them from the token's vector, so the layers come first.
#
# ```
#          x                        (B, N, D)
# →     1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** In the picture, each layer maps 6 numbers to 6. Its weights are `(6, 6)`: a row for each number that comes out. There are 36 of them, and 6 biases. So the four layers learn 168 numbers.
#
# **In general.** Queries, keys and values come from one linear layer each, and a fourth one mixes the heads at the end. All four map `hidden_dim` numbers to `hidden_dim` numbers and have a bias:
#
# - `q_linear`: what a token is looking for
# - `k_linear`: what it offers for a match
# - `v_linear`: what it passes on
# - `out_linear`: how the gathered results of all heads are mixed
#
# One layer makes the queries of **all** heads at once. Later, each head takes its slice of the result. Each row of weights reads the whole token: the heads share what comes out, not what goes in.
#
# **Before you code.** You take twice as many heads for the same hidden dimension. What happens to the size of the four layers?
# (The answer is at the end of this file.)


# %%
def create_projections(hidden_dim: int) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
    """Make the four linear layers.

    hidden_dim: D, the size of a token's vector.
    Returns q_linear, k_linear, v_linear, out_linear in this order: D to D each, with a bias.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")


# %% [markdown]
# **After the check.** ViT-B/16 has 768 numbers per token. How many numbers do these four layers learn there, in each block?
# (The answer is at the end of this file.)
#
# **Look at your own weights.** Make the four layers for a hidden dimension of 64, and look at each: its shape, its smallest and its largest weight. Guess first. In the notebook, use the cell below. With the file, type into `python -i vit_multi_head.py`. All weights lie within $1/\sqrt{64} = 0.125$ of 0, and every number there is equally likely. No two layers have the same ones.

# %% [markdown]
# ## 2. Queries, keys and values
#
# With the layers, every token can play its three roles. Think of a library: the **query** is what you ask for, the **keys** are the index cards, and the **values** are the books.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** The class token is (1, 0, 0, 0, 0, 0). For the third number of its query, the row of weights is (1, 0, 0, 0, 0, 0) and the bias 1. That gives 1·1 + 0·0 + 0·0 + 0·0 + 0·0 + 0·0 = 1, and with the bias 2.
#
# The whole query is (0, 0, 2, 0, 1, 2). The key of the cow is (0, 0, 2, 0, 1, 1), and its value is (0, 1, 1, 0, 0, 2).
#
# **In general.**
#
# $$Q = X W_Q^\top + b_Q \qquad K = X W_K^\top + b_K \qquad V = X W_V^\top + b_V$$
#
# The transpose and the bias are what a linear layer of PyTorch does when it is called. The shape stays: `(B, N, D)` goes in, and queries, keys and values are `(B, N, D)` each.
#
# **Before you code.** Does the query of the class token depend on the patches?
# (The answer is at the end of this file.)


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
# **After the check.** What would go wrong if one layer made both the queries and the keys?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 3. Splitting the heads
#
# Each query now has `D` numbers, and so has each key and value. The heads are to work apart, so each gets its slice.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
# →     3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** These are the queries of two tokens. Head by head, they fall into two slices:
#
# ```
#             head 0     head 1
# [class]    0  0  2    0  1  2
# sky        0  2  1    0  1  0
# ```
#
# For the whole picture, `(1, 5, 6)` becomes `(1, 2, 5, 3)`.
#
# **In general.** The first `head_dim` numbers belong to head 0, the next to head 1, and so on. Two moves bring the heads to the front, beside the batch. There, each matrix product that follows runs for every head by itself:
#
# ```
#   (B, N, D)
# → (B, N, heads, head_dim)
# → (B, heads, N, head_dim)
# ```
#
# - The first move is a **`view`**: as many numbers as before, in the same order, read with other axes. It copies nothing. It cuts the last axis in two, and no number moves to another token.
# - The second is a **`permute`**: it names the old axes in their new order, so `t.permute(1, 0)` transposes a matrix. It copies nothing either, but the numbers are now read in another order.
#
# You do this three times: for queries, keys and values.
#
# **Before you code.** You take a view of the queries straight to the last shape. What does head 0 get for “sky”?
# (The answer is at the end of this file.)


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
# **After the check.** Does a token lose anything when its query is cut into heads?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 4. Scaled attention scores
#
# Each head has queries and keys, and compares them: how well does key $j$ answer query $i$? Their dot product tells you. It adds up `head_dim` products, so its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. In a wide head, the softmax would then put nearly all the weight on one token, and its gradient would all but vanish. So you scale.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
# →     4  └────┬────┘        │
# →     4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** In the second head, the class token's query is (0, 1, 2) and the cow's key is (0, 1, 1): 0·0 + 1·1 + 2·1 = 3. A query has 3 numbers, and the square root of that is 1.732. So the scaled score is 3 / 1.732 = 1.73. Both rows of the class token:
#
# ```
#         [class]  sky   sun  grass   cow
# head 0        0    0  2.31      0  2.31
# head 1        0    0  0.58   1.15  1.73
# ```
#
# **In general.** One matrix product per head gives all pairs at once:
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# The transpose swaps the token axis and the `head_dim` axis of the keys, `(B, heads, head_dim, N)`, and leaves batch and heads alone. The result is `(B, heads, N, N)`: in every head, a row for each query and a column for each key.
#
# What counts is the size of the **head**, not the hidden dimension, since that is what the dot product runs over.
#
# **Before you code.** How many scores does this picture have, in both heads together?
# (The answer is at the end of this file.)


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
# **After the check.** What would happen if you divided by the root of the hidden dimension?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 5. Attention weights
#
# Scores say who fits, but not how much to take from each. The softmax turns each row of scores into shares that sum to 1. They are the attention weights.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
# →     5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** The row of the class token in the second head, step by step:
#
# ```
#                   [class]    sky    sun  grass   cow
# score                   0      0   0.58   1.15  1.73
# less the largest    -1.73  -1.73  -1.15  -0.58     0
# e to that            0.18   0.18   0.32   0.56     1
# share                0.08   0.08   0.14   0.25  0.45
# ```
#
# The third row sums to 2.24, and each share is its part of that. Now both heads:
#
# ```
#         [class]   sky   sun  grass   cow
# head 0     0.04  0.04  0.44   0.04  0.44
# head 1     0.08  0.08  0.14   0.25  0.45
# ```
#
# The first head finds what stands out, sun and cow. The second looks to the lower right.
#
# **In general.**
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs. In every head, row $i$ says how token $i$ divides its attention among all tokens. The shape stays `(B, heads, N, N)`.
#
# **Before you code.** Sun and cow have the same score in head 0. What does that say about their shares?
# (The answer is at the end of this file.)


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
# **After the check.** What would happen if the softmax ran down the columns?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 6. Weighted sum of the values
#
# The shares say how much of each token; the values are what there is to take. So in every head, each token adds up the values of all tokens, each times its share.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** In the first head, these are the values and the shares of the class token:
#
# ```
#        [class]   sky   sun  grass   cow
# value        0     1     0      1     0
#              0     0     1      0     1
#              0     0     0      1     1
# share     0.04  0.04  0.44   0.04  0.44
# ```
#
# For the second number: 0.04·0 + 0.04·0 + 0.44·1 + 0.04·0 + 0.44·1 = 0.88. In the first head the class token gathers (0.08, 0.88, 0.48): what stands out is on the right. In the second it gathers (0.08, 0.83, 1.18): at the lower right, something stands out.
#
# **In general.**
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, heads, N, N)` and values `(B, heads, N, head_dim)` give one narrow vector per token and head, `(B, heads, N, head_dim)`. What the heads have gathered is not mixed yet.
#
# **Before you code.** Can a head look at one thing and pass on another?
# (The answer is at the end of this file.)


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
# **After the check.** The patches change their order, each with its own numbers. What does the class token gather?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 7. Merging the heads
#
# Each token now has a piece from every head. What follows needs one vector per token again. So this step is splitting the heads, backwards.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
# →     7        merged heads       (B, N, D)
#       8     output projection     (B, N, D)
# ```
#
# **By hand.** The class token has gathered (0.08, 0.88, 0.48) and (0.08, 0.83, 1.18). Merged, that is (0.08, 0.88, 0.48, 0.08, 0.83, 1.18). In memory, the two pieces begin 15 numbers apart: all tokens of the first head come before the second head. They have to come together.
#
# **In general.** Two moves bring the pieces together:
#
# ```
#   (B, heads, N, head_dim)
# → (B, N, heads, head_dim)
# → (B, N, D)
# ```
#
# A tensor is a row of numbers in memory, with a rule for finding each entry in that row.
#
# - **`permute`** moves no number; it only changes the rule. Neighbors along the last two axes may then lie far apart. Such a tensor is not **contiguous**.
# - **`view`** moves no number either. It joins two axes only where the numbers lie in the order of the axes. Otherwise it raises a `RuntimeError`.
# - **`contiguous()`** makes a copy in which the numbers lie in that order. (If they already do, it returns the tensor itself.) A view of the copy works.
# - **`reshape`** is a view where that is possible. Where it is not, it copies, without a word. It is right here too.
#
# **Before you code.** You leave out the first move, and a reshape runs. What does the class token get?
# (The answer is at the end of this file.)


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
# **After the check.** Splitting needed no copy. Why does merging need one?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors, the heads stand side by side, and none knows what another has found. One last layer, `out_linear`, mixes them.
#
# ```
#          x                        (B, N, D)
#       1  │ four linear layers
#       2  ├─────────┬────────┐
#       2  queries   keys  values   (B, N, D)
#       3  split     split split    (B, heads, N, head_dim)
#       4  └────┬────┘        │
#       4     scaled scores   │     (B, heads, N, N)
#       5     weights         │     (B, heads, N, N)
#       6       └─────┬───────┘
#       6        weighted sum       (B, heads, N, head_dim)
#       7        merged heads       (B, N, D)
# →     8     output projection     (B, N, D)
# ```
#
# **By hand.** The class token has gathered (0.08, 0.88, 0.48, 0.08, 0.83, 1.18). The third row of the weights, (0, 0, 1, 0, 0, 1), takes from both heads: 0.08·0 + 0.88·0 + 0.48·1 + 0.08·0 + 0.83·0 + 1.18·1 = 1.66. The result is (0.08, 0.83, 1.66, 0.08, 0.88, 0.48).
#
# The block then adds it to the class token, (1, 0, 0, 0, 0, 0). In the residual stream it goes on as (1.08, 0.83, 1.66, 0.08, 0.88, 0.48).
#
# **In general.**
#
# $$\text{result} = \text{merged}\; W_O^\top + b_O$$
#
# Every number that comes out can depend on all heads. The shape stays `(B, N, D)`.
#
# **Before you code.** Without this last layer, which heads could the first number of the result depend on?
# (The answer is at the end of this file.)


# %%
def project_output(merged: Float[Tensor, "B N D"], out_linear: nn.Linear) -> Float[Tensor, "B N D"]:
    """Mix what the heads have gathered.

    merged: (B, N, D), the heads side by side. out_linear: the linear layer from D to D.
    Returns the layer's output: (B, N, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# **After the check.** Why does the result have to have the shape of the input?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 9. The whole layer
#
# All steps are there; the class joins them in `forward`. It keeps the four layers as attributes `q_linear`, `k_linear`, `v_linear` and `out_linear`, so that PyTorch finds their parameters. The checks put their own weights into the layers, by these names. The class also keeps two whole numbers: `num_heads`, how many heads there are, and `head_dim`, the size of each.
#
# ```
#          x                        (B, N, D)
# →     1  │ four linear layers
# →     2  ├─────────┬────────┐
# →     2  queries   keys  values   (B, N, D)
# →     3  split     split split    (B, heads, N, head_dim)
# →     4  └────┬────┘        │
# →     4     scaled scores   │     (B, heads, N, N)
# →     5     weights         │     (B, heads, N, N)
# →     6       └─────┬───────┘
# →     6        weighted sum       (B, heads, N, head_dim)
# →     7        merged heads       (B, N, D)
# →     8     output projection     (B, N, D)
# ```
#
# **By hand.** The class token goes in as (1, 0, 0, 0, 0, 0) and comes out as (0.08, 0.83, 1.66, 0.09, 0.87, 0.48), if nothing is rounded on the way.
#
# **In general.** $(B, N, D)$ goes in and comes out. The heads share the hidden dimension evenly. If the number of heads does not divide it, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.
#
# A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# **Before you code.** Which numbers of heads can share a hidden dimension of 6?
# (The answer is at the end of this file.)


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


# %% [markdown]
# **After the check.** The patches become half as wide and half as high. About how many times as many scores are there?
# (The answer is at the end of this file.)
#
# **Write a first test of your own.** Make a layer with 12 numbers per token and 3 heads, and give it 2 random images of 5 tokens. Does the output have the shape of the input, `(2, 5, 12)`?
#
# Then call the steps one by one, and print the shape after each. Are the weights `(2, 3, 5, 5)`? Are they between 0 and 1, and does each row sum to 1?

# %% [markdown]
# ## The answers
#
# Think about each question before you read on.
#
# ### 1. The projections
#
# **Before you code.** You take twice as many heads for the same hidden dimension. What happens to the size of the four layers?
#
# Nothing. All heads together are as wide as the token, so more heads are narrower heads.
#
# **After the check.** ViT-B/16 has 768 numbers per token. How many numbers do these four layers learn there, in each block?
#
# $4 \cdot (768^2 + 768)$, which is 2,362,368.
#
# ### 2. Queries, keys and values
#
# **Before you code.** Does the query of the class token depend on the patches?
#
# Not in this layer. It is made from the class token's own vector. In a later block, that vector holds what the token has gathered before.
#
# **After the check.** What would go wrong if one layer made both the queries and the keys?
#
# Then token $i$ would score token $j$ as $j$ scores $i$. The cow could not score the grass high unless the grass scored it as high. Only the shares may still differ, since each row has a sum of its own.
#
# ### 3. Splitting the heads
#
# **Before you code.** You take a view of the queries straight to the last shape. What does head 0 get for “sky”?
#
# It gets (0, 1, 2): what head 1 should get for the class token. The shape is right, but the view cuts across the tokens. A view never moves an axis.
#
# **After the check.** Does a token lose anything when its query is cut into heads?
#
# No number is lost, and none is changed. But from now on each head compares only its own slice.
#
# ### 4. Scaled attention scores
#
# **Before you code.** How many scores does this picture have, in both heads together?
#
# It has 50: in each of 2 heads, 5 queries meet 5 keys.
#
# **After the check.** What would happen if you divided by the root of the hidden dimension?
#
# The shares would come out flatter: in head 0, the cow would get 0.39 from the class token in place of 0.44. No error would tell you.
#
# ### 5. Attention weights
#
# **Before you code.** Sun and cow have the same score in head 0. What does that say about their shares?
#
# They are equal, too: 0.44 each.
#
# **After the check.** What would happen if the softmax ran down the columns?
#
# The shares that a token gets would sum to 1, not those that it gives. In head 0, the row of the class token would sum to 0.75.
#
# ### 6. Weighted sum of the values
#
# **Before you code.** Can a head look at one thing and pass on another?
#
# Yes. Its values have weights of their own. Here head 0 looks at what a token is, but its values say where it is.
#
# **After the check.** The patches change their order, each with its own numbers. What does the class token gather?
#
# The same as before. A sum does not depend on the order of its terms. A patch's place counts only because positions were added to its numbers.
#
# ### 7. Merging the heads
#
# **Before you code.** You leave out the first move, and a reshape runs. What does the class token get?
#
# It gets (0.08, 0.88, 0.48, 0.11, 0.88, 0.06): what the class token and “sky” have gathered, both in head 0. The shape is right, and the tokens are mixed.
#
# **After the check.** Splitting needed no copy. Why does merging need one?
#
# Splitting began with a view of numbers in order. Here the pieces of a token lie apart in memory, and a vector of `D` numbers has them side by side. No rule can replace that; somebody has to move them.
#
# ### 8. Output projection
#
# **Before you code.** Without this last layer, which heads could the first number of the result depend on?
#
# Only on head 0, whose numbers stand first.
#
# **After the check.** Why does the result have to have the shape of the input?
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# ### 9. The whole layer
#
# **Before you code.** Which numbers of heads can share a hidden dimension of 6?
#
# 1, 2, 3 and 6. The heads then have 6, 3, 2 or 1 numbers each. With 4 heads, 2 numbers would be left over.
#
# **After the check.** The patches become half as wide and half as high. About how many times as many scores are there?
#
# About 16 times as many. There are four times as many patches, and every token meets every other.
