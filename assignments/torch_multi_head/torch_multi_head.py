# Multi-head attention in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read create_projections`. (The .ipynb holds the same steps.)

# %%
# Several heads look at the tokens at the same time, each in its own part of the hidden size. You
# know from numpy_single_head what one head does. What is new is the axis of the heads.
# The axes: B sequences in a batch, S tokens (words) in a sequence, C numbers for a token (the
# hidden size), heads. A query, a key or a value of one head has head_dim numbers.
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %%
# 1 The projections                 x → [qkv] → heads → scores → scale → softmax → sum → merge → out
# One fused layer, Wqkv, makes query, key and value of all heads. Wo mixes what they have gathered.
# "it" is (1, 1, 1, 0, 0, 1). The first row of Wqkv makes of it the first number of a query:
# 1·0 + 1·1 + 1·2 + 0·0 + 0·0 + 1·0 = 3. Wqkv has 18 such rows. Would more heads need more?
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values, split into heads
#                                   x → qkv → [heads] → scores → scale → softmax → sum → merge → out
# What a word is (as in numpy_single_head), and in which part of the sentence it stands:
#              the  cat  slept  because  it  was  tired
# thing          0    2      0        0   1    0      1
# happens        0    0      3        1   1    1      1
# leans          1    0      0        1   1    0      0
# first part     1    1      1        0   0    0      0
# between        0    0      0        1   0    0      0
# second part    0    0      0        0   1    1      1
# Head 0 asks what a word is, head 1 where it stands: 2 heads, and head_dim = C // heads.
# Wqkv has made one long row of "it", 18 numbers. You cut it up, for every word:
#           head 0     head 1
# query    3  1  0    0  1  2
# key      1  1  2    0  0  1
# value    2  1  1    1  1  1
# A reshape cuts up numbers in order. Which axes have to change places so that heads stand before S?
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

# %%
# 3 Attention scores                x → qkv → heads → [scores] → scale → softmax → sum → merge → out
# As in step 4 of numpy_single_head, in every head by itself. "it" meets "cat" in head 0, and "was"
# in head 1: 3·2 + 1·0 + 0·2 = 6 and 0·0 + 1·0 + 2·1 = 2. Both rows of "it":
#         the  cat  slept  because  it  was  tired
# head 0    0    6      3        1   4    1      4
# head 1    0    0      0        1   2    2      2
# Batch and heads stay in front. Which two axes of the keys change places?
def compute_attention_scores(
    queries: Float[Tensor, "B heads S head_dim"], keys: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S S"]:
    """Compare every query with every key of the same head.

    queries: (B, heads, S, head_dim). keys: (B, heads, S, head_dim).
    Returns attention_scores: (B, heads, S, S); entry (b, h, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")

# %%
# 4 Scaling                         x → qkv → heads → scores → [scale] → softmax → sum → merge → out
# As in step 5 of numpy_single_head. A dot product runs over the 3 numbers of one head, not over C;
# the square root is 1.732. Both rows of "it", scaled:
#         the   cat  slept  because    it   was  tired
# head 0    0  3.46   1.73     0.58  2.31  0.58   2.31
# head 1    0     0      0     0.58  1.15  1.15   1.15
def scale_scores(
    attention_scores: Float[Tensor, "B heads S S"], head_dim: int
) -> Float[Tensor, "B heads S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, heads, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, heads, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")

# %%
# 5 Attention weights               x → qkv → heads → scores → scale → [softmax] → sum → merge → out
# Scores become shares, as in step 1 of numpy_single_head. PyTorch's own softmax is stable: use it.
#          the   cat  slept  because    it   was  tired
# head 0  0.02  0.51   0.09     0.03  0.16  0.03   0.16
# head 1  0.07  0.07   0.07     0.13  0.22  0.22   0.22
# "it" looks for two things at once: each head has a row of shares, and each row sums to 1.
# Along which dimension does the softmax run, so that the heads do not compete?
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads S S"],
) -> Float[Tensor, "B heads S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, S, S).
    Returns attention_weights: (B, heads, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")

# %%
# 6 Weighted sum of the values      x → qkv → heads → scores → scale → softmax → [sum] → merge → out
# In every head, a token adds up all values, each times its share. First number of "it" in head 0:
# 0.02·0 + 0.51·4 + 0.09·0 + 0.03·0 + 0.16·2 + 0.03·0 + 0.16·2 = 2.68
# All of head 0: (2.68, 0.65, 0.21), mostly from "cat". Head 1: (0.58, 1, 0.42).
def apply_attention(
    attention_weights: Float[Tensor, "B heads S S"], values: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, S, S). values: (B, heads, S, head_dim).
    Returns attention_output: (B, heads, S, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")

# %%
# 7 Merging the heads               x → qkv → heads → scores → scale → softmax → sum → [merge] → out
# Each word gets one vector again, its heads side by side. For "it", head 0 and head 1:
# (2.68, 0.65, 0.21) and (0.58, 1, 0.42) make (2.68, 0.65, 0.21, 0.58, 1, 0.42)
# A right shape is not enough: a row may hold two words of one head. Which axes change places first?
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")

# %%
# 8 Output projection               x → qkv → heads → scores → scale → softmax → sum → merge → [out]
# The heads stand side by side; Wo mixes them. The first number of "it" adds what both heads found:
# 2.68·1 + 0.65·0 + 0.21·0 + 0.58·1 + 1·0 + 0.42·0 = 3.26
# A linear layer multiplies by its transposed weight and adds its bias when it is called.
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 9 The whole layer                 [x → qkv → heads → scores → scale → softmax → sum → merge → out]
# The class keeps the two layers as Wqkv and Wo and calls your steps in order. "it" goes in as
# (1, 1, 1, 0, 0, 1) and comes out as (3.28, 1.65, 0.62, 0, 0, 0).
# Heads that do not divide the hidden size are the caller's mistake: say so in __init__, at once.
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

# %%
# 10 Bonus: the causal layer        [x → qkv → heads → scores → scale → softmax → sum → merge → out]
# A decoder may not look ahead (steps 6 and 7 of numpy_single_head). "it" in head 0, with the mask:
#          the   cat  slept  because    it   was  tired
# scaled     0  3.46   1.73     0.58  2.31  0.58   2.31
# masked     0  3.46   1.73     0.58  2.31  -1e9   -1e9
# weight  0.02  0.63   0.11     0.04  0.20     0      0
# Later scores become negative infinity, or a very negative number such as -1e9. You write forward
# only, and without causal=True it does what the class above does.
class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention that can hide the future."""

    def forward(self, x: Float[Tensor, "B S C"], causal: bool = False) -> Float[Tensor, "B S C"]:
        """Let every token gather from all; with `causal`, only from itself and earlier ones.

        x: (B, S, C). causal: whether later tokens are hidden.
        Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("CausalMultiHeadAttention.forward is not written yet")
