# Single-head attention in PyTorch
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
    Returns Wqkv (C to 3 * head_dim) and Wo (head_dim to C), where head_dim is C // 4.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values
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
# 3 Attention scores
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
# 4 Scaling
def scale_scores(attention_scores: Float[Tensor, "B S S"], head_dim: int) -> Float[Tensor, "B S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")

# %%
# 5 Attention weights
def compute_attention_weights(scaled_scores: Float[Tensor, "B S S"]) -> Float[Tensor, "B S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")

# %%
# 6 Weighted sum of the values
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
# 7 Output projection
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
# 8 The whole layer
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
