# Single-head attention in NumPy
# Replace each line that raises NotImplementedError with your code, and save: `attn watch` checks.
# The lesson: guide.html, or `attn read softmax`. (The .ipynb holds the same steps.)

# %%
# In "the cat slept because it was tired", attention lets every word gather what it needs from the
# others: "it" looks at "cat". You follow "it" by hand, rounded to two places.
# The axes: B sequences in a batch, S tokens (words) in a sequence, D numbers for a token.
import numpy as np
from jaxtyping import Float, Real

# %%
# 1 Softmax                         x → q k v → scores → scale → mask → [softmax] → sum → out
# "it" has compared itself with the words up to itself. How much of each does it take?
#         the   cat  slept  because    it
# score     0  3.46   1.73     0.58  2.31
# share  0.02  0.63   0.11     0.04  0.20
# A share is e**score, divided by the sum of its row. A score may be 10 000: take the largest of
# the row away first. The shares stay the same, and nothing overflows.
def softmax(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn every row of scores into weights that sum to 1.

    scores: (B, S, S), numbers of any size, even 10 000.
    Returns the weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("softmax is not written yet")

# %%
# 2 Weight initialization           x → [q k v] → scores → scale → mask → softmax → sum → out
# Three matrices say what a token looks for (query), what it offers (key), and what it passes on
# (value). A fourth mixes the result (output). They start as small random numbers; training finds
# better ones. In the other steps, the sentence has made-up matrices of whole numbers.
def initialize_weights(
    embedding_dimension: int, rng: np.random.Generator
) -> tuple[
    Float[np.ndarray, "D D"],
    Float[np.ndarray, "D D"],
    Float[np.ndarray, "D D"],
    Float[np.ndarray, "D D"],
]:
    """Draw the four weight matrices.

    embedding_dimension: D, the size of a token's vector.
    rng: where the random numbers come from.
    Returns query_weights, key_weights, value_weights, output_weights: (D, D) each,
    normally distributed with mean 0 and standard deviation 0.02.
    """
    # YOUR CODE HERE
    raise NotImplementedError("initialize_weights is not written yet")

# %%
# 3 Queries, keys and values        x → [q k v] → scores → scale → mask → softmax → sum → out
# A word is three made-up numbers: how much it is a thing, it happens, it leans on other words.
#          the  cat  slept  because  it  was  tired
# thing      0    2      0        0   1    0      1
# happens    0    0      3        1   1    1      1
# leans      1    0      0        1   1    0      0
# Now it gets its three roles. Think of a library: what you ask for, index cards, books.
# query  0   1   0     key  1   0   1     value  2   0   0
#        1   0   0          0   1   0            0   1   0
#        2   0   0          0   0   1            0   0   1
# "it" is (1, 1, 1), and its query is (3, 1, 0): it looks for a thing.
# The key of "cat" is (2, 0, 2), and its value (4, 0, 0).
def project_qkv(
    x: Float[np.ndarray, "B S D"],
    query_weights: Float[np.ndarray, "D D"],
    key_weights: Float[np.ndarray, "D D"],
    value_weights: Float[np.ndarray, "D D"],
) -> tuple[Float[np.ndarray, "B S D"], Float[np.ndarray, "B S D"], Float[np.ndarray, "B S D"]]:
    """Project the tokens to queries, keys and values.

    x: (B, S, D), the token vectors. The three weight matrices: (D, D).
    Returns queries, keys, values in this order: (B, S, D) each.
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_qkv is not written yet")

# %%
# 4 Attention scores                x → q k v → [scores] → scale → mask → softmax → sum → out
# How well does a key answer a query? Multiply number by number and add up. "it" scores "cat"
# 3·2 + 1·0 + 0·2 = 6. The whole row of "it":
#        the  cat  slept  because  it  was  tired
# score    0    6      3        1   4    1      4
def compute_attention_scores(
    queries: Float[np.ndarray, "B S D"], keys: Float[np.ndarray, "B S D"]
) -> Float[np.ndarray, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, D). keys: (B, S, D).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")

# %%
# 5 Scaling                         x → q k v → scores → [scale] → mask → softmax → sum → out
# A sum of D products spreads like √D. With wide scores, one token would get nearly everything.
# So every score is divided by √D, here 1.732.
#         the   cat  slept  because    it   was  tired
# score     0     6      3        1     4     1      4
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
def scale_scores(
    attention_scores: Float[np.ndarray, "B S S"], embedding_dimension: int
) -> Float[np.ndarray, "B S S"]:
    """Bring the scores back to a spread that does not depend on the embedding dimension.

    attention_scores: (B, S, S). embedding_dimension: D, the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")

# %%
# 6 Masking: the causal mask        x → q k v → scores → scale → [mask] → softmax → sum → out
# A decoder learns to predict the next token, so it must not look at it. A token sees itself and
# what came before it. "it" is the fifth word:
#       the  cat  slept  because  it  was  tired
# mask    1    1      1        1   1    0      0
def create_causal_mask(sequence_length: int) -> Real[np.ndarray, "S S"]:
    """Say which key each query may see.

    sequence_length: S.
    Returns causal_mask: (S, S), 1 (or True) where query i may see key j, else 0 (or False).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_causal_mask is not written yet")

# %%
# 7 Masking: the masked scores      x → q k v → scores → scale → [mask] → softmax → sum → out
# Before the softmax, a forbidden score becomes so negative that its share will be 0.
#         the   cat  slept  because    it   was  tired
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
# mask      1     1      1        1     1     0      0
# masked    0  3.46   1.73     0.58  2.31  -1e9   -1e9
def apply_mask(
    scaled_scores: Float[np.ndarray, "B S S"], causal_mask: Real[np.ndarray, "S S"]
) -> Float[np.ndarray, "B S S"]:
    """Make the forbidden scores very negative and keep the others.

    scaled_scores: (B, S, S). causal_mask: (S, S), 1 where a query may see a key, else 0.
    Returns masked_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_mask is not written yet")

# %%
# 8 Attention weights               x → q k v → scores → scale → mask → [softmax] → sum → out
# Now the scores, scaled and perhaps masked, become shares. You have a function for that.
#          the   cat  slept  because    it   was  tired
# masked     0  3.46   1.73     0.58  2.31  -1e9   -1e9
# weight  0.02  0.63   0.11     0.04  0.20     0      0
def compute_attention_weights(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn the scaled or masked scores into attention weights.

    scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")

# %%
# 9 Weighted sum of the values      x → q k v → scores → scale → mask → softmax → [sum] → out
# Each token adds up the values of all tokens, each times its weight. First number of "it":
# 0.02·0 + 0.63·4 + 0.11·0 + 0.04·0 + 0.20·2 = 2.92
# All three are (2.92, 0.57, 0.26): mostly "thing", from "cat".
def apply_attention(
    attention_weights: Float[np.ndarray, "B S S"], values: Float[np.ndarray, "B S D"]
) -> Float[np.ndarray, "B S D"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, D).
    Returns attention_output: (B, S, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")

# %%
# 10 Output projection              x → q k v → scores → scale → mask → softmax → sum → [out]
# One last matrix mixes what a token has gathered: (2.92, 0.57, 0.26) becomes
# (3.49, 0.57, 0.52) for "it". The block then adds it to "it" itself, so the shape stays.
def project_output(
    attention_output: Float[np.ndarray, "B S D"], output_weights: Float[np.ndarray, "D D"]
) -> Float[np.ndarray, "B S D"]:
    """Project the gathered values.

    attention_output: (B, S, D). output_weights: (D, D).
    Returns the layer's output: (B, S, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")

# %%
# 11 The whole layer                [x → q k v → scores → scale → mask → softmax → sum → out]
# The class holds the four matrices and calls your steps in order; the mask only if causal is
# True. "it" goes in as (1, 1, 1) and comes out as (3.50, 0.57, 0.51) with the mask.
class SingleHeadAttention:
    """Single-head self-attention.

    Attributes: query_weights, key_weights, value_weights, output_weights, (D, D) each.
    """

    def __init__(self, embedding_dimension: int, rng: np.random.Generator) -> None:
        """Draw the four weight matrices and keep them as attributes.

        embedding_dimension: D. rng: where the random numbers come from.
        """
        # YOUR CODE HERE
        raise NotImplementedError("SingleHeadAttention.__init__ is not written yet")

    def forward(
        self, x: Float[np.ndarray, "B S D"], causal: bool = False
    ) -> Float[np.ndarray, "B S D"]:
        """Let every token gather from the others.

        x: (B, S, D). causal: whether a token may see only itself and those before it.
        Returns the new token vectors: (B, S, D).
        """
        # YOUR CODE HERE
        raise NotImplementedError("SingleHeadAttention.forward is not written yet")
