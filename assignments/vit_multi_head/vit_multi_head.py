# Multi-head attention of a vision transformer in PyTorch
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read create_projections`. (The .ipynb holds the same steps.)

# %%
# A Vision Transformer (ViT) cuts an image into patches: its tokens. The class token in front of
# them gathers what the image shows. You follow it in a small picture, rounded to two places.
# The axes: B images, N tokens in each, D numbers for a token, heads, head_dim numbers for a head.
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %%
# 1 The projections                 x → [q k v] → heads → scores → softmax → sum → merge → out
# A token needs a query, a key and a value (numpy_single_head, step 2). Here linear layers make
# them, for all heads at once, and a fourth mixes the heads. Each maps 6 numbers to 6 here, with
# 36 weights and 6 biases: 168 in all. Does the number of heads change the size of a layer?
def create_projections(hidden_dim: int) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
    """Make the four linear layers.

    hidden_dim: D, the size of a token's vector.
    Returns q_linear, k_linear, v_linear, out_linear in this order: D to D each, with a bias.
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_projections is not written yet")

# %%
# 2 Queries, keys and values        x → [q k v] → heads → scores → softmax → sum → merge → out
# The picture has sky and sun at the top, grass and cow at the bottom. Six made-up numbers say
# what a token is (class token, bright, stands out) and where (left, right, low).
#           what it is  where it is
# [class]      1  0  0      0  0  0
# sky          0  2  0      1  0  0
# sun          0  3  2      0  1  0
# grass        0  1  0      1  0  1
# cow          0  0  2      0  1  1
# A layer keeps a row of weights for each number that comes out. The class token's query, third
# number: 1·1 + 0·0 + 0·0 + 0·0 + 0·0 + 0·0 = 1, and with the bias 2.
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
# 3 Splitting the heads             x → q k v → [heads] → scores → softmax → sum → merge → out
# With several heads, a token can ask for several things at once. Here head 0 asks what a token is,
# and head 1 asks where it is. Each gets its slice of every query, key and value:
#             head 0     head 1
# [class]    0  0  2    0  1  2
# sky        0  2  1    0  1  0
# The way has two moves: (B, N, D), then (B, N, heads, head_dim), then (B, heads, N, head_dim).
# Reading the numbers straight in the last shape runs too, but it mixes the tokens.
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
# 4 Scaled attention scores         x → q k v → heads → [scores] → softmax → sum → merge → out
# Each head compares its own slices (numpy_single_head, steps 4 and 5). In head 1, the class token
# scores the cow 0·0 + 1·1 + 2·1 = 3. A slice has 3 numbers, and their root counts:
# scaled, the score is 3 / 1.732 = 1.73. Both rows of the class token:
#         [class]  sky   sun  grass   cow
# head 0        0    0  2.31      0  2.31
# head 1        0    0  0.58   1.15  1.73
# Only two axes of the keys change places: which are they, if batch and heads stay in front?
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
# 5 Attention weights               x → q k v → heads → scores → [softmax] → sum → merge → out
# Each row of scores becomes shares that sum to 1 (numpy_single_head, step 8). PyTorch has a stable
# softmax: you decide along which dimension it runs. No mask: every token sees every other.
#         [class]   sky   sun  grass   cow
# head 0     0.04  0.04  0.44   0.04  0.44
# head 1     0.08  0.08  0.14   0.25  0.45
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
# 6 Weighted sum of the values      x → q k v → heads → scores → softmax → [sum] → merge → out
# In each head, values times shares, added up (numpy_single_head, step 9). The class token, head 0:
#        [class]   sky   sun  grass   cow
# value        0     1     0      1     0
#              0     0     1      0     1
#              0     0     0      1     1
# share     0.04  0.04  0.44   0.04  0.44
# The second number is 0.04·0 + 0.04·0 + 0.44·1 + 0.04·0 + 0.44·1 = 0.88.
# All three: (0.08, 0.88, 0.48). What stands out, sun and cow, is on the right.
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
# 7 Merging the heads               x → q k v → heads → scores → softmax → sum → [merge] → out
# Splitting the heads, backwards. The class token has gathered (0.08, 0.88, 0.48) and
# (0.08, 0.83, 1.18): side by side, (0.08, 0.88, 0.48, 0.08, 0.83, 1.18).
# In memory, the two pieces begin 15 numbers apart. So two axes change places, and then a view
# refuses: it needs the numbers copied into their new order.
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
# 8 Output projection               x → q k v → heads → scores → softmax → sum → merge → [out]
# One last layer mixes what the heads have found. The third row of its weights takes from both:
# 0.08·0 + 0.88·0 + 0.48·1 + 0.08·0 + 0.83·0 + 1.18·1 = 1.66
# The block adds the result, (0.08, 0.83, 1.66, 0.08, 0.88, 0.48), to the class token.
def project_output(merged: Float[Tensor, "B N D"], out_linear: nn.Linear) -> Float[Tensor, "B N D"]:
    """Mix what the heads have gathered.

    merged: (B, N, D), the heads side by side. out_linear: the linear layer from D to D.
    Returns the layer's output: (B, N, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 9 The whole layer                 [x → q k v → heads → scores → softmax → sum → merge → out]
# The class keeps the four layers under the names below, and calls your steps in order. The class
# token goes in as (1, 0, 0, 0, 0, 0); out comes (0.08, 0.83, 1.66, 0.09, 0.87, 0.48).
# If the number of heads does not divide D, say so in __init__, before anything else goes wrong.
# The checks send a gradient back: detach nothing on the way, and change nothing in place.
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
