# %% [markdown]
# `numpy_single_head.py` and `numpy_single_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check softmax

# %% [markdown]
# # Single-head attention in NumPy
#
# In a sequence, the meaning of one token depends on the others. Attention is the layer that lets every token gather what it needs from the rest. Here you build it from nothing but matrix products.
#
# You build it in small steps. Each step is one function, with a check on its own inputs, so an error in one does not spoil the next. At the end the steps become a class, `SingleHeadAttention`.
#
# **The shapes.** Letters name the axes of every array, and the same letters stand in the signatures:
#
# | letter | axis | in the checks |
# |---|---|---|
# | `B` | batch: how many sequences at once | 2 to 4 |
# | `S` | sequence: how many tokens in each | 3 to 10 |
# | `D` | embedding: how many numbers describe one token | 3 to 64 |
#
# The input `x` is `(B, S, D)`: embeddings, with the positions already added. The output has the same shape, so that layers can be stacked.
#
# **How to work.** Replace the line that raises `NotImplementedError`, run the cell (Shift+Enter), then run the check under it. The check shows what is right so far and the one thing to look at next. Change your code and run both cells as often as you like.

# %%
import numpy as np
from jaxtyping import Float, Real

# %% [markdown]
# ## 1. Softmax
#
# Attention asks "how much of each token?" So scores have to become shares: numbers between 0 and 1 that sum to 1.
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# A row of scores belongs to one query, and its entries to the keys that this query looks at. So the sum runs along the **last axis**.
#
# Two properties to keep in mind:
#
# - It is **stable**. Scores of 10 000 are allowed, but $e^{10\,000}$ is larger than any floating-point number. Only the differences between scores matter. So you may subtract the largest score of each row: the shares stay the same, and nothing overflows.
# - It leaves its input as it was.


# %%
def softmax(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn every row of scores into weights that sum to 1.

    scores: (B, S, S), numbers of any size, even 10 000.
    Returns the weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("softmax is not written yet")


# %% [markdown]
# ## 2. Weight initialization
#
# The layer learns four square matrices. Three of them say what a token is **looking for** (query), what it **offers** for a match (key), and what it **passes on** (value). The fourth mixes the gathered result at the end (output).
#
# They start as small random numbers, $\mathcal{N}(0,\,0.02^2)$: with a mean of 0 and a standard deviation of 0.02. Each matrix is a new draw.
#
# `rng` is a NumPy random generator, like the one that `np.random.default_rng(seed)` makes.


# %%
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


# %% [markdown]
# ## 3. Queries, keys and values
#
# Every token vector plays three roles. Think of a library: the **query** is what you ask for, the **keys** are the index cards, and the **values** are the books.
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# $X$ is one sequence of `x`. Each of its rows is a token, so the weight matrix stands on the right. The shape stays: `(B, S, D)` goes in, and queries, keys and values are `(B, S, D)` each.


# %%
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


# %% [markdown]
# ## 4. Attention scores
#
# How well does key $j$ answer query $i$? Their dot product tells you. One matrix product per sequence of the batch gives all pairs at once:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the embedding axis of the keys, and leaves the batch axis alone. The result is `(B, S, S)`: in every sequence, a row for each query and a column for each key.


# %%
def compute_attention_scores(
    queries: Float[np.ndarray, "B S D"], keys: Float[np.ndarray, "B S D"]
) -> Float[np.ndarray, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, D). keys: (B, S, D).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_scores is not written yet")


# %% [markdown]
# ## 5. Scaling
#
# A dot product adds up $D$ products, so it spreads wider the larger $D$ is: its standard deviation grows like $\sqrt{D}$. Without scaling, the softmax would put nearly all the weight on one token, and its gradient would all but vanish.
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{D}}$$
#
# The shape stays `(B, S, S)`. Every score becomes smaller by the same factor, so the best key for a query stays the best.


# %%
def scale_scores(
    attention_scores: Float[np.ndarray, "B S S"], embedding_dimension: int
) -> Float[np.ndarray, "B S S"]:
    """Bring the scores back to a spread that does not depend on the embedding dimension.

    attention_scores: (B, S, S). embedding_dimension: D, the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("scale_scores is not written yet")


# %% [markdown]
# ## 6. Masking: the causal mask
#
# A model that learns to predict the next token must not look at it. The **causal mask** says who may see whom. Row $i$ belongs to query $i$, and column $j$ to key $j$. A token sees itself and what came before it.
#
# For four tokens:
#
# $$\begin{pmatrix}1&0&0&0\\1&1&0&0\\1&1&1&0\\1&1&1&1\end{pmatrix}$$


# %%
def create_causal_mask(sequence_length: int) -> Real[np.ndarray, "S S"]:
    """Say which key each query may see.

    sequence_length: S.
    Returns causal_mask: (S, S), 1 (or True) where query i may see key j, else 0 (or False).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_causal_mask is not written yet")


# %% [markdown]
# ## 7. Masking: the masked scores
#
# The mask has to act **before** the softmax: a forbidden score becomes so negative that its share comes out as 0. A score of 0 will not do, since $e^0 = 1$ is a share like any other.
#
# Where the mask is 0, write `-1e9`. Negative infinity, `-np.inf`, works too.


# %%
def apply_mask(
    scaled_scores: Float[np.ndarray, "B S S"], causal_mask: Real[np.ndarray, "S S"]
) -> Float[np.ndarray, "B S S"]:
    """Make the forbidden scores very negative and keep the others.

    scaled_scores: (B, S, S). causal_mask: (S, S), 1 where a query may see a key, else 0.
    Returns masked_scores: (B, S, S).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_mask is not written yet")


# %% [markdown]
# ## 8. Attention weights
#
# Now the scores, scaled and perhaps masked, become shares. You have a function for that from step 1.
#
# Row $i$ of the result says how token $i$ divides its attention among all tokens. Scores `(B, S, S)` go in, and weights of the same shape come out.


# %%
def compute_attention_weights(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn the scaled or masked scores into attention weights.

    scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")


# %% [markdown]
# ## 9. Weighted sum of the values
#
# Each token adds up the values of all tokens, each times its share:
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# A token that gives one key the weight 1 takes the value of that key and nothing else. Equal weights give the mean of all values. Weights `(B, S, S)` and values `(B, S, D)` give one vector per token again, `(B, S, D)`.


# %%
def apply_attention(
    attention_weights: Float[np.ndarray, "B S S"], values: Float[np.ndarray, "B S D"]
) -> Float[np.ndarray, "B S D"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, D).
    Returns attention_output: (B, S, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("apply_attention is not written yet")


# %% [markdown]
# ## 10. Output projection
#
# What a token has gathered is a weighted mean of values, number by number. One last learned matrix mixes these numbers, so that the layer can pass them on in the form that the next one needs:
#
# $$\text{result} = \text{output}\; W_O$$
#
# The shape stays that of the input, `(B, S, D)`.


# %%
def project_output(
    attention_output: Float[np.ndarray, "B S D"], output_weights: Float[np.ndarray, "D D"]
) -> Float[np.ndarray, "B S D"]:
    """Project the gathered values.

    attention_output: (B, S, D). output_weights: (D, D).
    Returns the layer's output: (B, S, D).
    """
    # YOUR CODE HERE
    raise NotImplementedError("project_output is not written yet")


# %% [markdown]
# ## 11. The whole layer
#
# The class holds the four matrices and joins the steps. With `causal=True` no token sees the future; without it, every token sees all of them.
#
# Here is a first test of your own: a batch of 2 sequences, with 10 tokens each and 64 numbers per token. The output has the shape of the input, `(2, 10, 64)`.
#
# The check under the class runs your own steps. If it fails, first make sure that every check above passes.


# %%
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
