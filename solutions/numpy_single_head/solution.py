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
    ### BEGIN SOLUTION
    shifted = scores - scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    shape = (embedding_dimension, embedding_dimension)
    query_weights = 0.02 * rng.standard_normal(shape)
    key_weights = 0.02 * rng.standard_normal(shape)
    value_weights = 0.02 * rng.standard_normal(shape)
    output_weights = 0.02 * rng.standard_normal(shape)
    return query_weights, key_weights, value_weights, output_weights
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    queries = x @ query_weights
    keys = x @ key_weights
    values = x @ value_weights
    return queries, keys, values
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return queries @ keys.swapaxes(-2, -1)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return attention_scores / np.sqrt(embedding_dimension)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return np.tril(np.ones((sequence_length, sequence_length)))
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return np.where(causal_mask == 1, scaled_scores, -1e9)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return softmax(scores)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return attention_output @ output_weights
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        self.query_weights, self.key_weights, self.value_weights, self.output_weights = (
            initialize_weights(embedding_dimension, rng)
        )
        ### END SOLUTION

    def forward(
        self, x: Float[np.ndarray, "B S D"], causal: bool = False
    ) -> Float[np.ndarray, "B S D"]:
        """Let every token gather from the others.

        x: (B, S, D). causal: whether a token may see only itself and those before it.
        Returns the new token vectors: (B, S, D).
        """
        ### BEGIN SOLUTION
        queries, keys, values = project_qkv(
            x, self.query_weights, self.key_weights, self.value_weights
        )
        attention_scores = compute_attention_scores(queries, keys)
        scores = scale_scores(attention_scores, x.shape[-1])
        if causal:
            scores = apply_mask(scores, create_causal_mask(x.shape[1]))
        attention_weights = compute_attention_weights(scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(attention_output, self.output_weights)
        ### END SOLUTION


# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# There are no more steps and no more points: the cells from here on show what you have built. They give your layer weights that are chosen by hand instead of drawn, so that you can see what it does with them.
#
# Each token has 11 numbers. The first four say what kind of word it is. The other seven are its position, with a 1 at its place. The query weights let every word look for other kinds. A verb looks for a noun, and half as much for a pronoun. A pronoun looks for the noun that it stands for. An article looks for nothing, so it looks everywhere alike.
#
# The value of a token is its position and nothing else. So what a token gathers is itself the list of shares: row $i$ of the output **is** row $i$ of the attention weights.
#
# $$(B, S, D) = (1, 7, 11)$$

# %% active="ipynb"
# from autograder import show_attention
#
# tokens = "the cat slept because it was tired".split()
#
#
# def attention_on_the_sentence():
#     noun, verb, pronoun, adjective = kinds = np.eye(4)
#     nothing = np.zeros(4)
#     words = np.array([nothing, noun, verb, nothing, pronoun, verb, adjective])
#     positions = np.eye(7)
#     x = np.concatenate([words, positions], axis=-1)[np.newaxis]
#
#     looks_for = [verb, noun + pronoun / 2, noun, noun / 2 + pronoun]
#     layer = SingleHeadAttention(11, np.random.default_rng(0))
#     layer.query_weights = np.zeros((11, 11))
#     layer.query_weights[:4, :4] = 8 * np.array(looks_for)
#     layer.key_weights = np.zeros((11, 11))
#     layer.key_weights[:4, :4] = kinds
#     layer.value_weights = np.eye(11, k=-4)  # the position, moved to the front
#     layer.output_weights = np.eye(11)
#     return {
#         "every token sees all": layer.forward(x)[0, :, :7],
#         "causal": layer.forward(x, causal=True)[0, :, :7],
#     }
#
#
# show_attention(attention_on_the_sentence, tokens)

# %% [markdown] active="ipynb"
# Read it row by row: where does “it” look, and where does “slept”? In the causal picture everything above the diagonal is 0, and each row is shared among fewer tokens. So “the” attends to itself alone. And “slept”, which looks for a pronoun too, has not read “it” yet.
#
# ## Your layer beside the library's
#
# PyTorch has attention built in, `scaled_dot_product_attention`. Given the same random weights and tokens, $(B, S, D) = (2, 5, 8)$, both should give the same numbers, up to rounding.

# %% active="ipynb"
# from autograder import compare_with_library, pytorch_attention
#
#
# def yours_and_the_librarys(causal):
#     rng = np.random.default_rng(0)
#     layer = SingleHeadAttention(8, rng)
#     query, key, value, output = weights = rng.normal(scale=0.5, size=(4, 8, 8))
#     layer.query_weights, layer.key_weights = query, key
#     layer.value_weights, layer.output_weights = value, output
#     x = rng.normal(size=(2, 5, 8))
#     return layer.forward(x, causal), pytorch_attention(x, *weights, causal=causal)
#
#
# compare_with_library(lambda: yours_and_the_librarys(False), "PyTorch's attention")
# compare_with_library(lambda: yours_and_the_librarys(True), "PyTorch's causal attention")

# %% [markdown] active="ipynb"
# ## Your layer speaks
#
# A small language model has learned plays by Shakespeare, one character after the other. Its weights come with the kit; its attention is missing. Here your layer takes that place, in all four blocks: $(B, S, D) = (1, \text{up to }96, 48)$. Every character that you read went through your `softmax`, your mask and your weighted sum.
#
# Below the text stands what mistakes would have cost: those that you met on the way or, if you met none, three others.

# %% active="ipynb"
# from autograder import speak
#
# speak(lambda embedding_dimension, rng: SingleHeadAttention(embedding_dimension, rng))
