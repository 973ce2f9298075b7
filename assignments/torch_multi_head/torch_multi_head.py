# Multi-head attention in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read create_projections`. (The .ipynb holds the same steps.)

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %%
# 1 The projections
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values, split into heads
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
# 3 Attention scores
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
# 4 Scaling
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
# 5 Attention weights
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
# 6 Weighted sum of the values
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
# 7 Merging the heads
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")

# %%
# 8 Output projection
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 9 The whole layer
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
# 10 Bonus: the causal layer
class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention that can hide the future."""

    def forward(self, x: Float[Tensor, "B S C"], causal: bool = False) -> Float[Tensor, "B S C"]:
        """Let every token gather from all; with `causal`, only from itself and earlier ones.

        x: (B, S, C). causal: whether later tokens are hidden.
        Returns the new token vectors: (B, S, C).
        """
        # YOUR CODE HERE
        raise NotImplementedError("CausalMultiHeadAttention.forward is not written yet")
