# %% [markdown]
# `numpy_single_head.py` and `numpy_single_head.ipynb` hold the same exercise. Work in one of the two.
#
# In this file, replace each line that raises `NotImplementedError` with your code, save, and check the step in a terminal, in this file's folder:
#
#     attn check softmax

# %% [markdown]
# # Single-head attention in NumPy
#
# In a sequence, the meaning of one token depends on the others. In “the cat slept because it was tired”, the word “it” alone says little. Attention is the layer that lets every token gather what it needs from the rest: “it” looks at “cat”. Here you build it from matrix products, a softmax and a mask.
#
# You build it in small steps. Each step is one function, checked on its own inputs. A step that calls one that is wrong waits for it. In a course, it is then judged with a right one in its place, so one mistake costs one step. So write them in order. At the end the steps become a class, `SingleHeadAttention`. Get each step right before you go on.
#
# **Where the layer stands.** A transformer is a stack of blocks. In each block, attention lets the tokens exchange, and then a small network (MLP) works on each token alone:
#
# ```
# x ──┬───────────────(+)──┬─────────(+)── next block
#     └── attention ───┘   └── MLP ───┘
# ```
#
# Here `x` is what comes in. Each part **adds** its result to it. The line that runs through is called the **residual stream**. You can only add arrays of the same shape, so the layer's output has the shape of its input.
#
# **Encoder and decoder.** An encoder reads all of its input at once, and every token sees every other. The Vision Transformer (ViT) is one: its tokens are patches of an image. A decoder writes one token after the other, so no token may see a later one. GPT is one. It needs the mask of steps 6 and 7, and an encoder does not: that is why the mask is **optional**, `causal=True` or `False`.
#
# **The shapes.** Letters name the axes of every array, and the same letters stand in the signatures:
#
# | letter | axis | for example | typical | GPT-2 small | ViT-Base |
# |---|---|---|---|---|---|
# | `B` | batch: how many sequences at once | 2 | 32 | any | any |
# | `S` | sequence: how many tokens in each | 5 | 128 | up to 1024 | 197 |
# | `D` | embedding: how many numbers describe one token | 8 | 512 | 768 | 768 |
#
# The input `x` is `(B, S, D)`: embeddings as floating-point numbers. It comes from the embedding layer or from the block before. A model adds the positions first, so that each row tells what a token means and where it stands. (The sentence below does without them.) `B` stands first because the sequences have nothing to do with each other.
#
# **A sentence to follow.** In each step you first do the sums by hand, for one sentence of 7 tokens. Every word has three numbers, so $(B, S, D) = (1, 7, 3)$. They say how much a word is a thing, how much it happens, and how much it leans on other words:
#
# ```
# the      0  0  1
# cat      2  0  0
# slept    0  3  0
# because  0  1  1
# it       1  1  1
# was      0  1  0
# tired    1  1  0
# ```
#
# These numbers are made up; a model learns its own, in hundreds. Results are rounded to two places, and each step goes on with the rounded ones. To keep it short, you mostly follow one row: that of “it”, among the words up to “it”.
#
# **How to work.** Replace the line that raises `NotImplementedError`, run the cell (Shift+Enter), then run the check under it. The check shows what is right so far and the one thing to look at next. Change your code and run both cells as often as you like. Think about the questions before you open their answers.

# %%
import numpy as np
from jaxtyping import Float, Real

# %% [markdown]
# ## 1. Softmax
#
# Attention asks “how much of each token?” So scores have to become shares: numbers between 0 and 1 that sum to 1. The layer needs this in step 8. You write it first, because it needs no other step.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
# →  1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** Say “it” has these scores for the words that it may see. You will see where they come from.
#
# ```
#                     the   cat  slept  because     it
# score                 0  3.46   1.73     0.58   2.31
# less the largest  -3.46     0  -1.73    -2.88  -1.15
# e to that          0.03     1   0.18     0.06   0.32
# share              0.02  0.63   0.11     0.04   0.20
# ```
#
# The third row sums to 1.59. Each share is its part of that sum. “cat” gets more than half.
#
# **In general.**
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# A row of scores belongs to one token, and its entries to the tokens that it looks at. (From step 2 on, they are called the query and its keys.) So the sum runs along the **last axis**.
#
# - It is **stable**. Scores of 10 000 are allowed, but $e^{10\,000}$ is larger than any floating-point number. Only the differences between scores matter. So you may subtract the largest score of each row: the shares stay the same, and nothing overflows.
# - It leaves its input as it was.
#
# **Before you code.** You add 5 to every score of a row. What happens to its shares?
# (The answer is at the end of this file.)


# %%
def softmax(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn every row of scores into weights that sum to 1.

    scores: (B, S, S), numbers of any size, even 10 000.
    Returns the weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("softmax is not written yet")


# %% [markdown]
# **After the check.** All scores of a row are equal. What are its shares, and what does that mean?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 2. Weight initialization
#
# To get scores, tokens must be compared, and *how* is learned. Three square matrices say what a token is **looking for** (query), what it **offers** for a match (key), and what it **passes on** (value). The fourth mixes the gathered result at the end (output).
#
# ```
#          x                        (B, S, D)
# →     2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** For $D = 3$ and the seed 0, this is the first row of the query weights:
#
# ```
# 0.0025   -0.0026   0.0128
# ```
#
# Nearly all such numbers lie between -0.06 and 0.06. In the other steps, the sentence has weights that are made up, with whole numbers.
#
# **In general.** The weights start as small random numbers, $\mathcal{N}(0,\,0.02^2)$: with a mean of 0 and a standard deviation of 0.02. Each matrix is a new draw.
#
# `rng` is a NumPy random generator, like the one that `np.random.default_rng(seed)` makes. All numbers come from it: with the same seed, anybody gets the same weights.
#
# **Before you code.** Why do the weights not start at 0?
# (The answer is at the end of this file.)


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
# **After the check.** What if the query weights and the key weights were the same draw?
# (The answer is at the end of this file.)
#
# **Look at your own weights.** Draw the four matrices for $D = 64$, and look at them: their shapes, the mean and the standard deviation of each. Guess first. In the notebook, use the cell below. With the file, type into `python -i numpy_single_head.py`. The mean should be within 0.001 of 0, and the deviation within 0.001 of 0.02.

# %% [markdown]
# ## 3. Queries, keys and values
#
# With the weights, every token vector can play its three roles. Think of a library: the **query** is what you ask for, the **keys** are the index cards, and the **values** are the books.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
# →     3  ├─────────┬────────┐
# →     3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** These are the matrices of the sentence:
#
# ```
# query  0   1   0     key  1   0   1     value  2   0   0
#        1   0   0          0   1   0            0   1   0
#        2   0   0          0   0   1            0   0   1
# ```
#
# “it” is (1, 1, 1). The first number of its query comes from the first column: 1·0 + 1·1 + 1·2 = 3. The whole query is (3, 1, 0): “it” looks for a thing. The key of “cat” is (2, 0, 2), and its value is (4, 0, 0).
#
# **In general.**
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# $X$ is one sequence of `x`. Each of its rows is a token, so the weight matrix stands on the right. The shape stays: `(B, S, D)` goes in, and queries, keys and values are `(B, S, D)` each.
#
# **Before you code.** Does the query of “it” depend on the other words of the sentence?
# (The answer is at the end of this file.)


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
# **After the check.** What would go wrong if the keys were also used as values?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 4. Attention scores
#
# Now queries meet keys: how well does key $j$ answer query $i$? Their dot product tells you. It is large when both have large numbers of the same sign in the same places: such tokens are related.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
# →     4  └────┬────┘        │
# →     4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** The query of “it” is (3, 1, 0), and the key of “cat” is (2, 0, 2). Their score is 3·2 + 1·0 + 0·2 = 6. The whole row of “it”:
#
# ```
#     the  cat  slept  because  it  was  tired
# it    0    6      3        1   4    1      4
# ```
#
# **In general.**
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# One matrix product for each sequence of the batch gives all pairs at once. The transpose swaps the sequence axis and the embedding axis of the keys, and leaves the batch axis alone. The result is `(B, S, S)`: a row for each query and a column for each key. Scores can be any numbers; they are no shares yet.
#
# **Before you code.** How many scores does a sentence of 7 tokens have?
# (The answer is at the end of this file.)


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
# **After the check.** “it” scores “cat” with 6. Does “cat” score “it” the same?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 5. Scaling
#
# Scores are sums, and a sum of more terms spreads wider. A dot product adds up $D$ products, so its standard deviation grows like $\sqrt{D}$. Scores that lie far apart make the softmax put nearly all the weight on one token. Then its gradient all but vanishes, and training is slow.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
# →     5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** Here $D$ is 3, and its square root is 1.732. The score of “cat” becomes 6 / 1.732 = 3.46:
#
# ```
#         the   cat  slept  because    it   was  tired
# score     0     6      3        1     4     1      4
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
# ```
#
# **In general.**
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{D}}$$
#
# The shape stays `(B, S, S)`. Every score is divided by the same number, so the best key for a query stays the best.
#
# **Before you code.** The numbers of queries and keys have a standard deviation of 1. How wide do dot products spread for $D = 64$?
# (The answer is at the end of this file.)


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
# **After the check.** What would the shares of “it” be without scaling?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 6. Masking: the causal mask
#
# So far “it” scores all words, even those that come later. A decoder learns to predict the next token, and must not look at it: that would be cheating. The **causal mask** says who may see whom. An encoder leaves this step out.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
# →     6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** “it” is the fifth word, so it sees five words, itself among them:
#
# ```
#     the  cat  slept  because  it  was  tired
# it    1    1      1        1   1    0      0
# ```
#
# **In general.** Row $i$ belongs to query $i$, and column $j$ to key $j$. A token sees itself and what came before it. For four tokens:
#
# $$\begin{pmatrix}1&0&0&0\\1&1&0&0\\1&1&1&0\\1&1&1&1\end{pmatrix}$$
#
# The mask is `(S, S)`, without a batch axis: it is the same for every sequence.
#
# **Before you code.** Which words may “the” see, at the start of the sentence?
# (The answer is at the end of this file.)


# %%
def create_causal_mask(sequence_length: int) -> Real[np.ndarray, "S S"]:
    """Say which key each query may see.

    sequence_length: S.
    Returns causal_mask: (S, S), 1 (or True) where query i may see key j, else 0 (or False).
    """
    # YOUR CODE HERE
    raise NotImplementedError("create_causal_mask is not written yet")


# %% [markdown]
# **After the check.** Why are there ones on the diagonal?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 7. Masking: the masked scores
#
# The mask says who may see whom; now the scores have to obey. That must happen **before** the softmax: a forbidden score becomes so negative that its share comes out as 0.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
# →     7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** The row of “it”:
#
# ```
#         the   cat  slept  because    it   was  tired
# scaled    0  3.46   1.73     0.58  2.31  0.58   2.31
# mask      1     1      1        1     1     0      0
# masked    0  3.46   1.73     0.58  2.31  -1e9   -1e9
# ```
#
# **In general.** Where the mask is 1, the score stays. Where it is 0, write `-1e9`. Negative infinity, `-np.inf`, works too. A score of 0 will not do, since $e^0 = 1$ is a share like any other.
#
# The shape stays `(B, S, S)`, and one mask `(S, S)` serves the whole batch.
#
# **Before you code.** Why not set the forbidden shares to 0 after the softmax?
# (The answer is at the end of this file.)


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
# **After the check.** What would happen without the mask?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 8. Attention weights
#
# Now the scores, scaled and perhaps masked, are ready to become shares: the attention weights. You have a function for that from step 1.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
# →  1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** The row of “it”, masked, gives the shares that you know from the softmax. The forbidden words get nothing:
#
# ```
#           the   cat  slept  because    it   was  tired
# masked      0  3.46   1.73     0.58  2.31  -1e9   -1e9
# weights  0.02  0.63   0.11     0.04  0.20     0      0
# ```
#
# **In general.** Row $i$ of the result says how token $i$ divides its attention among all tokens. Scores `(B, S, S)` go in, and weights of the same shape come out. Each is between 0 and 1, and each row sums to 1.
#
# **Before you code.** In an encoder there is no mask. Which scores become shares there?
# (The answer is at the end of this file.)


# %%
def compute_attention_weights(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    """Turn the scaled or masked scores into attention weights.

    scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError("compute_attention_weights is not written yet")


# %% [markdown]
# **After the check.** What can the row of “cat” look like with the causal mask?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 9. Weighted sum of the values
#
# The shares say how much of each token; the values are what there is to take. So each token adds up the values of all tokens, each times its share.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
# →     9       └─────┬───────┘
# →     9        weighted sum       (B, S, D)
#      10     output projection     (B, S, D)
# ```
#
# **By hand.** The shares of “it” are 0.02, 0.63, 0.11, 0.04, 0.20, and the values of the words that it sees are:
#
# ```
# the      0  0  1
# cat      4  0  0
# slept    0  3  0
# because  0  1  1
# it       2  1  1
# ```
#
# For the first number: 0.02·0 + 0.63·4 + 0.11·0 + 0.04·0 + 0.20·2 = 2.92. All three are (2.92, 0.57, 0.26). “it” was (1, 1, 1), and has gathered mostly “thing”, from “cat”.
#
# **In general.**
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, S, S)` and values `(B, S, D)` give one vector per token again, `(B, S, D)`. It is the new form of the token.
#
# **Before you code.** A token gives one key the weight 1. What does it get?
# (The answer is at the end of this file.)


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
# **After the check.** And if all its weights are equal?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 10. Output projection
#
# What a token has gathered is a weighted mean of values, number by number. One last learned matrix mixes these numbers, so that the layer can pass them on in the form that the next one needs.
#
# ```
#          x                        (B, S, D)
#       2  │ four weight matrices   (D, D)
#       3  ├─────────┬────────┐
#       3  queries   keys  values   (B, S, D)
#       4  └────┬────┘        │
#       4     scores          │     (B, S, S)
#       5     scaled scores   │     (B, S, S)
#       6     causal mask     │     (S, S)
#       7     masked scores   │     (B, S, S)
#    1, 8     weights         │     (B, S, S)
#       9       └─────┬───────┘
#       9        weighted sum       (B, S, D)
# →    10     output projection     (B, S, D)
# ```
#
# **By hand.** “it” has gathered (2.92, 0.57, 0.26), and these are the output weights:
#
# ```
# output  1   0   0
#         1   1   0
#         0   0   2
# ```
#
# For the first number: 2.92·1 + 0.57·1 + 0.26·0 = 3.49. The result is (3.49, 0.57, 0.52). The block then adds it to “it” itself, (1, 1, 1): in the residual stream, “it” goes on as (4.49, 1.57, 1.52).
#
# **In general.**
#
# $$\text{result} = \text{output}\; W_O$$
#
# The shape stays that of the input, `(B, S, D)`.
#
# **Before you code.** Why does the result need the shape of `x`?
# (The answer is at the end of this file.)


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
# **After the check.** A single head could do with one matrix in place of value and output weights. Which?
# (The answer is at the end of this file.)

# %% [markdown]
# ## 11. The whole layer
#
# All steps are there; the class holds the four matrices and joins them. With `causal=True` no token sees the future; without it, every token sees all of them.
#
# ```
#          x                        (B, S, D)
# →     2  │ four weight matrices   (D, D)
# →     3  ├─────────┬────────┐
# →     3  queries   keys  values   (B, S, D)
# →     4  └────┬────┘        │
# →     4     scores          │     (B, S, S)
# →     5     scaled scores   │     (B, S, S)
# →     6     causal mask     │     (S, S)
# →     7     masked scores   │     (B, S, S)
# →  1, 8     weights         │     (B, S, S)
# →     9       └─────┬───────┘
# →     9        weighted sum       (B, S, D)
# →    10     output projection     (B, S, D)
# ```
#
# **By hand.** “it” goes in as (1, 1, 1) and comes out as (3.50, 0.57, 0.51), if nothing is rounded on the way.
#
# **In general.** $(B, S, D)$ goes in and comes out. The check under the class runs your own steps. If it fails, first make sure that every check above passes.
#
# **Before you code.** With the causal mask and without it, which word of the sentence gets the same result?
# (The answer is at the end of this file.)


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


# %% [markdown]
# **After the check.** A text becomes twice as long. How many times as many scores are there?
# (The answer is at the end of this file.)
#
# **Write a first test of your own.** Make a layer with 64 numbers per token, and give it a batch of 2 sequences with 10 random tokens each. Does the output have the shape of the input, `(2, 10, 64)`? Then make the attention weights step by step: are they between 0 and 1, and does every row sum to 1? Look at shapes and values before you go on.

# %% [markdown]
# ## The answers
#
# Think about each question before you read on.
#
# ### 1. Softmax
#
# **Before you code.** You add 5 to every score of a row. What happens to its shares?
#
# Nothing. Every exponential is multiplied by $e^5$, and so is their sum. The factor cancels out.
#
# **After the check.** All scores of a row are equal. What are its shares, and what does that mean?
#
# Each share is 1 divided by the number of tokens. The token has no favorite and looks at all of them alike.
#
# ### 2. Weight initialization
#
# **Before you code.** Why do the weights not start at 0?
#
# Then all values would be 0, and so would the output. Its gradient in every matrix would be 0 as well, because each is multiplied by another matrix of zeros. The layer could never learn.
#
# **After the check.** What if the query weights and the key weights were the same draw?
#
# Then token $i$ would score token $j$ as $j$ scores $i$. “it” could not score “cat” high unless “cat” scores “it” as high. Only the shares may still differ, since each row has a sum of its own.
#
# ### 3. Queries, keys and values
#
# **Before you code.** Does the query of “it” depend on the other words of the sentence?
#
# No. It is made from the row of “it” alone. The words meet in the next step.
#
# **After the check.** What would go wrong if the keys were also used as values?
#
# No error tells you, because the shapes fit. But a word could then only pass on what it is found by. It is as if the library gave you the index card in place of the book.
#
# ### 4. Attention scores
#
# **Before you code.** How many scores does a sentence of 7 tokens have?
#
# It has 49: each of 7 queries meets each of 7 keys. That is why the shape is `(S, S)` for each sequence.
#
# **After the check.** “it” scores “cat” with 6. Does “cat” score “it” the same?
#
# No, with 2. There the query of “cat” meets the key of “it”. Rows and columns of the scores are not the same thing.
#
# ### 5. Scaling
#
# **Before you code.** The numbers of queries and keys have a standard deviation of 1. How wide do dot products spread for $D = 64$?
#
# Their standard deviation is $\sqrt{64} = 8$. After scaling it is 1, for every $D$.
#
# **After the check.** What would the shares of “it” be without scaling?
#
# “cat” would get 0.84 in place of 0.63, with only three numbers a word. With hundreds of numbers, the best key would get nearly everything.
#
# ### 6. Masking: the causal mask
#
# **Before you code.** Which words may “the” see, at the start of the sentence?
#
# Itself, and no other.
#
# **After the check.** Why are there ones on the diagonal?
#
# Without them, the first token could see nothing at all. No shares of nothing can sum to 1.
#
# ### 7. Masking: the masked scores
#
# **Before you code.** Why not set the forbidden shares to 0 after the softmax?
#
# Then the rest would no longer sum to 1. For “it”, only 0.81 would be left: part of the attention had gone to words that it may not see.
#
# **After the check.** What would happen without the mask?
#
# “it” would give “was” 0.03 and “tired” 0.16 of its attention. In training, the model could copy the next word from its input. When it writes, there is no next word to copy.
#
# ### 8. Attention weights
#
# **Before you code.** In an encoder there is no mask. Which scores become shares there?
#
# The scaled scores of step 5, as they are. Every token then shares its attention among all tokens.
#
# **After the check.** What can the row of “cat” look like with the causal mask?
#
# Only “the” and “cat” can have shares. Here they are 0.50, 0.50: both scores are equal.
#
# ### 9. Weighted sum of the values
#
# **Before you code.** A token gives one key the weight 1. What does it get?
#
# The value of that key, and nothing else.
#
# **After the check.** And if all its weights are equal?
#
# Then it gets the mean of all values.
#
# ### 10. Output projection
#
# **Before you code.** Why does the result need the shape of `x`?
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# **After the check.** A single head could do with one matrix in place of value and output weights. Which?
#
# Their product, $W_V W_O$: nothing stands between them but a weighted sum. With several heads, the output weights do more. They mix what the heads have found.
#
# ### 11. The whole layer
#
# **Before you code.** With the causal mask and without it, which word of the sentence gets the same result?
#
# The last one, “tired”: it sees every word in both cases.
#
# **After the check.** A text becomes twice as long. How many times as many scores are there?
#
# Four times as many: $(2S)^2 = 4S^2$. That is why long texts are costly for a transformer.
