# Multi-head attention of a vision transformer in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read create_projections`. (The .ipynb holds the same steps.)

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %%
# 1 The projections
def create_projections(hidden_dim: int) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
    """Make the four linear layers.

    hidden_dim: D, the size of a token's vector.
    Returns q_linear, k_linear, v_linear, out_linear in this order: D to D each, with a bias.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values
def project_qkv(
    x: Float[Tensor, "B N D"], q_linear: nn.Linear, k_linear: nn.Linear, v_linear: nn.Linear
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """Project the tokens to queries, keys and values, one layer for each.

    x: (B, N, D), the token vectors. The three linear layers: from D to D.
    Returns queries, keys, values in this order: (B, N, D) each.
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_qkv is not written yet")

# %%
# 3 Splitting the heads
def split_heads(
    projected: Float[Tensor, "B N D"], num_heads: int
) -> Float[Tensor, "B heads N head_dim"]:
    """Give every head its slice of each token's vector.

    projected: (B, N, D), the queries, keys or values. num_heads: how many heads share D.
    Returns the slices: (B, heads, N, head_dim), where head_dim is D // heads.
    """
    # YOUR CODE HERE
    raise NotImplementedError("split_heads is not written yet")

# %%
# 4 Scaled attention scores
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

# %%
# 5 Attention weights
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads N N"],
) -> Float[Tensor, "B heads N N"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, N, N).
    Returns attention_weights: (B, heads, N, N), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")

# %%
# 6 Weighted sum of the values
def apply_attention(
    attention_weights: Float[Tensor, "B heads N N"], values: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, N, N). values: (B, heads, N, head_dim).
    Returns attention_output: (B, heads, N, head_dim).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")

# %%
# 7 Merging the heads
def merge_heads(
    attention_output: Float[Tensor, "B heads N head_dim"],
) -> Float[Tensor, "B N D"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, N, head_dim).
    Returns merged: (B, N, D), with D = heads * head_dim, the numbers of head 0 first.
    """
    # YOUR CODE HERE
    raise NotImplementedError("merge_heads is not written yet")

# %%
# 8 Output projection
def project_output(merged: Float[Tensor, "B N D"], out_linear: nn.Linear) -> Float[Tensor, "B N D"]:
    """Mix what the heads have gathered.

    merged: (B, N, D), the heads side by side. out_linear: the linear layer from D to D.
    Returns the layer's output: (B, N, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 9 The whole layer
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
