# Single-head attention in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read create_projections`. (The .ipynb holds the same steps.)

# %%
# This is the layer of numpy_single_head, as a PyTorch module: an optimizer can train its weights.
# You follow the same sentence, with the same weights, rounded to two places.
# The axes: B sequences in a batch, S tokens (words) in a sequence, C numbers for a token (the
# hidden size). A query, a key or a value has head_dim numbers.
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %%
# 1 The projections                 x → [q k v] → scores → scale → softmax → sum → out
# One layer, Wqkv, makes query, key and value at once. Wo goes back to the hidden size.
# For C = 12, head_dim is 3. PyTorch keeps a weight as (out, in):
# Wqkv.weight is (9, 12), Wo.weight is (12, 3).
# For C = 10 there is a remainder. Can the width of your Wqkv still be cut into three equal parts?
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * head_dim) and Wo (head_dim to C), where head_dim is C // 4.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values        x → [q k v] → scores → scale → softmax → sum → out
# A word has the three numbers of numpy_single_head and nine zeros. Without the zeros:
#          the  cat  slept  because  it  was  tired
# thing      0    2      0        0   1    0      1
# happens    0    0      3        1   1    1      1
# leans      1    0      0        1   1    0      0
# Wqkv makes one long row of "it", and you cut it into three:
# 3, 1, 0   1, 1, 2   2, 1, 1
# query     key       value
# The numbers of one query lie next to each other. Where does the axis of the three stand, then?
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

# %%
# 3 Attention scores                x → q k v → [scores] → scale → softmax → sum → out
# As in step 4 of numpy_single_head: each query meets each key. "it" scores "cat"
# 3·2 + 1·0 + 0·2 = 6. The whole row of "it":
#        the  cat  slept  because  it  was  tired
# score    0    6      3        1   4    1      4
# A tensor's transpose swaps two axes, which it takes by number. Which two, so that the batch
# stays apart?
def compute_attention_scores(
    queries: Float[Tensor, "B S head_dim"], keys: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, head_dim). keys: (B, S, head_dim).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")

# %%
# 4 Scaling                         x → q k v → scores → [scale] → softmax → sum → out
# As in step 5 of numpy_single_head, but a dot product now runs over head_dim numbers, not over C.
# The square root of 3 is 1.732.
#         the   cat  slept  because    it   was  tired
# score     0     6      3        1     4     1      4
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
def scale_scores(attention_scores: Float[Tensor, "B S S"], head_dim: int) -> Float[Tensor, "B S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")

# %%
# 5 Attention weights               x → q k v → scores → scale → [softmax] → sum → out
# Scores become shares, as in step 1 of numpy_single_head. PyTorch's own softmax is stable: use it.
#          the   cat  slept  because    it   was  tired
# scaled     0  3.46   1.73     0.58  2.31  0.58   2.31
# share   0.02  0.51   0.09     0.03  0.16  0.03   0.16
# The row of "it" sums to 1, and there is no mask. Along which dimension does the softmax run?
def compute_attention_weights(scaled_scores: Float[Tensor, "B S S"]) -> Float[Tensor, "B S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")

# %%
# 6 Weighted sum of the values      x → q k v → scores → scale → softmax → [sum] → out
# Each token adds up all values, each times its share, as in step 9 of numpy_single_head. First
# number of "it": 0.02·0 + 0.51·4 + 0.09·0 + 0.03·0 + 0.16·2 + 0.03·0 + 0.16·2 = 2.68
# All three are (2.68, 0.65, 0.21): mostly "thing", from "cat".
def apply_attention(
    attention_weights: Float[Tensor, "B S S"], values: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, head_dim).
    Returns attention_output: (B, S, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")

# %%
# 7 Output projection               x → q k v → scores → scale → softmax → sum → [out]
# "it" has gathered (2.68, 0.65, 0.21), only head_dim numbers. Wo brings them back to C: for "it"
# (3.33, 0.65, 0.42), and nine zeros. The block then adds this to "it" itself.
# A linear layer multiplies by its transposed weight and adds its bias when it is called.
def project_output(
    attention_output: Float[Tensor, "B S head_dim"], Wo: nn.Linear
) -> Float[Tensor, "B S C"]:
    """Project the gathered values back to the hidden size.

    attention_output: (B, S, head_dim). Wo: the linear layer from head_dim to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 8 The whole layer                 [x → q k v → scores → scale → softmax → sum → out]
# The class keeps the two layers as Wqkv and Wo and calls your steps in order: there is no mask.
# "it" goes in as (1, 1, 1) and comes out as (3.35, 0.65, 0.41), both with nine zeros.
# The layers are made once: what would an optimizer train, if each call made new ones?
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
