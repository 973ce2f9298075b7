# %% [markdown]
# # Single-head attention in NumPy
#
# In “the cat slept because it was tired”, “it” alone says little. Attention lets every token gather what it needs from the others: “it” looks at “cat”. The axes of every array: `B` sequences in a batch, `S` tokens in each, `D` numbers for a token.

# %% [markdown] active="py"
# In "the cat slept because it was tired", attention lets every word gather what it needs from the
# others: "it" looks at "cat". You follow "it" by hand, rounded to two places.
# The axes: B sequences in a batch, S tokens (words) in a sequence, D numbers for a token.

# %%
import numpy as np
from jaxtyping import Float, Real

# %% [markdown]
# ## 1. Softmax
#
# A score says how well two tokens fit. It has to become a share: a number between 0 and 1. All the shares of one row sum to 1. Scores of 10 000 are allowed: subtract the largest of the row first. And leave the input as it was.
#
# {{ path }}
#
# **By hand.** “it” has scores from later steps. The third row sums to {{ number(powers_sum) }}, and each share is its part of that. “cat” gets more than half:
#
# ```
# {{ table(softmax_rows, WORDS[:SEEN]) }}
# ```
#
# <details>
# <summary><b>In general.</b> The formula of a share, why the largest is subtracted, and why this step comes first.</summary>
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# It has to be stable: $e^{10\,000}$ is larger than any floating-point number. Only the differences between scores matter. So when you subtract the largest score of each row, the shares stay the same, and nothing overflows.
#
# Attention asks “how much of each token?” The layer needs this in step 8. It comes first because it needs no other step. In each step you do the sums by hand first, for “it” among the words up to “it”. They are rounded to two places, and the next step goes on from there.
#
# A row of scores belongs to one token, and its entries to the tokens that it looks at. (From step 2 on, they are called the query and its keys.) So the sum runs along the **last axis**.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You add 5 to every score of a row. What happens to its shares?</summary>
#
# Nothing. Every exponential is multiplied by $e^5$, and so is their sum. The factor cancels out.
#
# </details>

# %% [markdown] active="py"
# "it" has compared itself with the words up to itself. How much of each does it take?
# {{ table({"score": scaled[IT, :SEEN], "share": weights[IT, :SEEN]}, WORDS[:SEEN]) }}
# A share is e**score, divided by the sum of its row. A score may be 10 000: take the largest of
# the row away first. The shares stay the same, and nothing overflows.


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
# <details>
# <summary><b>After the check.</b> All scores of a row are equal. What are its shares, and what does that mean?</summary>
#
# Each share is 1 divided by the number of tokens. The token has no favorite and looks at all of them alike.
#
# </details>

# %% [markdown]
# ## 2. Weight initialization
#
# To get scores, tokens must be compared, and *how* is learned. Three square matrices say what a token is **looking for** (query), what it **offers** for a match (key), and what it **passes on** (value). The fourth mixes the gathered result at the end (output).
#
# {{ path }}
#
# **By hand.** For $D = {{ number(D) }}$ and the seed {{ number(SEED) }}, this is the first row of the query weights:
#
# ```
# {{ "   ".join(number(value, 4) for value in drawn[0][0]) }}
# ```
#
# Nearly all such numbers lie between {{ number(-0.06) }} and {{ number(0.06) }}. In the other steps, the sentence has weights that are made up, with whole numbers.
#
# **What it has to do.** The weights start as small random numbers, and training finds better ones. Each matrix is a new draw from a normal distribution with mean 0 and standard deviation 0.02, $\mathcal{N}(0,\,0.02^2)$.
#
# `rng` is a NumPy random generator, like the one that `np.random.default_rng(seed)` makes. All numbers come from it: with the same seed, anybody gets the same weights.
#
# <details>
# <summary><b>Before you code.</b> Why do the weights not start at 0?</summary>
#
# Then all values would be 0, and so would the output. Its gradient in every matrix would be 0 as well, because each is multiplied by another matrix of zeros. The layer could never learn.
#
# </details>

# %% [markdown] active="py"
# Three matrices say what a token looks for (query), what it offers (key), and what it passes on
# (value). A fourth mixes the result (output). They start as small random numbers; training finds
# better ones. In the other steps, the sentence has made-up matrices of whole numbers.


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
# <details>
# <summary><b>After the check.</b> What if the query weights and the key weights were the same draw?</summary>
#
# Then token $i$ would score token $j$ as $j$ scores $i$. “it” could not score “cat” high unless “cat” scores “it” as high. Only the shares may still differ, since each row has a sum of its own.
#
# </details>
#
# <details>
# <summary><b>Look at your own weights.</b> What are their shapes, their means and their standard deviations?</summary>
#
# Draw the four matrices for $D = 64$ with `rng = np.random.default_rng(0)`, and print what you want to know. Guess first. In the notebook, add a cell below this one (Esc, then B). With the file, type into `python -i numpy_single_head.py`. The mean should be within 0.001 of 0, and the deviation within 0.001 of 0.02.
#
# </details>

# %% [markdown]
# ## 3. Queries, keys and values
#
# Here a token is three made-up numbers. They say how much a word is a thing, how much it happens, and how much it leans on other words. A model learns its own, in hundreds.
#
# ```
# {{ table({"thing": x[:, 0], "happens": x[:, 1], "leans": x[:, 2]}) }}
# ```
#
# With the weights, every token vector can play its three roles. Think of a library: the **query** is what you ask for, the **keys** are the index cards, and the **values** are the books.
#
# {{ path }}
#
# **By hand.** These are the matrices of the sentence:
#
# ```
# {{ side_by_side({"query": query_weights, "key": key_weights, "value": value_weights}) }}
# ```
#
# “it” is {{ vector(x[IT]) }}. The first number of its query comes from the first column: {{ dot(x[IT], query_weights[:, 0]) }}. The whole query is {{ vector(queries[IT]) }}: “it” looks for a thing. The key of “cat” is {{ vector(keys[CAT]) }}, and its value is {{ vector(values[CAT]) }}.
#
# <details>
# <summary><b>In general.</b> The three products, and where `x` comes from.</summary>
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# $X$ is one sequence of `x`. Each of its rows is a token, so the weight matrix stands on the right. The shape stays: `(B, S, D)` goes in, and queries, keys and values are `(B, S, D)` each.
#
# The input `x` holds embeddings, as floating-point numbers. It comes from the embedding layer or from the block before. A model adds the positions first, so that each row tells what a token means and where it stands. (The sentence here does without them.) `B` stands first because the sequences have nothing to do with each other.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Does the query of “it” depend on the other words of the sentence?</summary>
#
# No. It is made from the row of “it” alone. The words meet in the next step.
#
# </details>

# %% [markdown] active="py"
# A word is three made-up numbers: how much it is a thing, it happens, it leans on other words.
# {{ table({"thing": x[:, 0], "happens": x[:, 1], "leans": x[:, 2]}) }}
# Now it gets its three roles. Think of a library: what you ask for, index cards, books.
# {{ side_by_side({"query": query_weights, "key": key_weights, "value": value_weights}) }}
# "it" is {{ vector(x[IT]) }}, and its query is {{ vector(queries[IT]) }}: it looks for a thing.
# The key of "cat" is {{ vector(keys[CAT]) }}, and its value {{ vector(values[CAT]) }}.


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
# <details>
# <summary><b>After the check.</b> What would go wrong if the keys were also used as values?</summary>
#
# No error tells you, because the shapes fit. But a word could then only pass on what it is found by. It is as if the library gave you the index card in place of the book.
#
# </details>
#
# <details>
# <summary><b>Try another choice.</b> Make “it” look for what happens. Which two numbers of its query change?</summary>
#
# The query weights let “it” look for a thing. Change their last row, with which “leans” asks. Guess first. In the notebook, unfold the cell below. On paper, add up the three rows, since “it” is {{ vector(x[IT]) }}.
#
# </details>

# %% active="ipynb"
# from autograder import show_numbers
#
# def query_of_it():
#     query_weights = np.array({{ rows(query_weights) }}, float)  # change the last row
#     it = np.array([[[{{ listed(x[IT]) }}]]], float)  # (B, S, D)
#     return {"query of it": project_qkv(it, query_weights, np.eye(3), np.eye(3))[0][0, 0]}
#
# show_numbers(query_of_it)

# %% [markdown]
# <details>
# <summary><b>When you have tried.</b> Which two numbers change, and what does “it” look at then?</summary>
#
# The first and the second. With {{ vector(other_weights[2]) }} as the last row, {{ vector(queries[IT]) }} becomes {{ vector(other_queries[IT]) }}. The next step compares it with the keys. It fits “slept” best, whose key is {{ vector(keys[SLEPT]) }}: {{ dot(other_queries[IT], keys[SLEPT]) }}. For “cat” it is only {{ number(other_queries[IT] @ keys[CAT]) }}.
#
# </details>

# %% [markdown]
# ## 4. Attention scores
#
# Now queries meet keys: how well does key $j$ answer query $i$? Their dot product tells you. It is large when both have large numbers of the same sign in the same places: such tokens are related.
#
# {{ path }}
#
# **By hand.** The query of “it” is {{ vector(queries[IT]) }}, and the key of “cat” is {{ vector(keys[CAT]) }}. Their score is {{ dot(queries[IT], keys[CAT]) }}. The whole row of “it”:
#
# ```
# {{ table({"it": scores[IT]}) }}
# ```
#
# <details>
# <summary><b>In general.</b> All pairs in one matrix product.</summary>
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# One matrix product for each sequence of the batch gives all pairs at once. The transpose swaps the sequence axis and the embedding axis of the keys, and leaves the batch axis alone. The result is `(B, S, S)`: a row for each query and a column for each key. Scores can be any numbers; they are no shares yet.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many scores does a sentence of 7 tokens have?</summary>
#
# It has {{ number(scores.size) }}: each of {{ number(S) }} queries meets each of {{ number(S) }} keys. That is why the shape is `(S, S)` for each sequence.
#
# </details>

# %% [markdown] active="py"
# How well does a key answer a query? Multiply number by number and add up. "it" scores "cat"
# {{ dot(queries[IT], keys[CAT]) }}. The whole row of "it":
# {{ table({"score": scores[IT]}) }}


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
# <details>
# <summary><b>After the check.</b> “it” scores “cat” with {{ number(scores[IT, CAT]) }}. Does “cat” score “it” the same?</summary>
#
# No, with {{ number(scores[CAT, IT]) }}. There the query of “cat” meets the key of “it”. Rows and columns of the scores are not the same thing.
#
# </details>

# %% [markdown]
# ## 5. Scaling
#
# Scores are sums, and a sum of more terms spreads wider. A dot product adds up $D$ products, so its standard deviation grows like $\sqrt{D}$. Scores that lie far apart make the softmax put nearly all the weight on one token. Then its gradient all but vanishes, and training is slow.
#
# {{ path }}
#
# **By hand.** Here $D$ is {{ number(D) }}, and its square root is {{ number(D ** 0.5, 3) }}. The score of “cat” becomes {{ number(scores[IT, CAT]) }} / {{ number(D ** 0.5, 3) }} = {{ number(scaled[IT, CAT]) }}:
#
# ```
# {{ table({"score": scores[IT], "scaled": scaled[IT]}) }}
# ```
#
# <details>
# <summary><b>In general.</b> The formula, and what stays.</summary>
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{D}}$$
#
# The shape stays `(B, S, S)`. Every score is divided by the same number, so the best key for a query stays the best.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> The numbers of queries and keys have a standard deviation of 1. How wide do dot products spread for $D = 64$?</summary>
#
# Their standard deviation is $\sqrt{64} = 8$. After scaling it is 1, for every $D$.
#
# </details>

# %% [markdown] active="py"
# A sum of D products spreads like √D. With wide scores, one token would get nearly everything.
# So every score is divided by √D, here {{ number(D ** 0.5, 3) }}.
# {{ table({"score": scores[IT], "scaled": scaled[IT]}) }}


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
# <details>
# <summary><b>After the check.</b> What would the shares of “it” be without scaling?</summary>
#
# Of all {{ number(S) }} words of the table, “cat” would get {{ number(unscaled[IT, CAT]) }} in place of {{ number(seen_all[IT, CAT]) }}. That is with only three numbers a word.
#
# </details>
#
# <details>
# <summary><b>Try another choice.</b> How much does the best word get where a word is 3 numbers, and where it is 300?</summary>
#
# Five words have random vectors. Guess the share of the best one, with the division and without it. In the notebook, run the cell below; its code is folded.
#
# </details>

# %% active="ipynb"
# from autograder import show_numbers
#
# def shares(D):
#     asks, offers = np.random.default_rng(0).standard_normal((2, 1, 5, D))
#     plain = compute_attention_scores(asks, offers)
#     divided = scale_scores(plain, D)
#     return {f"D = {D}": softmax(plain)[0, 4], f"D = {D}, divided": softmax(divided)[0, 4]}
#
# show_numbers(lambda: shares(3) | shares(300))

# %% [markdown]
# <details>
# <summary><b>When you have tried.</b> How much does the best word get?</summary>
#
# With 3 numbers, it gets {{ number(narrow[0].max()) }} without the division and {{ number(narrow[1].max()) }} with it. With 300 numbers, it gets {{ number(wide[0].max(), 2) }} without it, so nobody else is heard. With it, the best word gets {{ number(wide[1].max()) }}, and the others still have a say.
#
# </details>

# %% [markdown]
# ## 6. Masking: the causal mask
#
# So far “it” scores all words, even those that come later. A decoder learns to predict the next token, and must not look at it: that would be cheating. The **causal mask** says who may see whom.
#
# **Encoder and decoder.** An encoder reads all of its input at once, and every token sees every other. The Vision Transformer (ViT) is one: its tokens are patches of an image. A decoder writes one token after the other, so no token may see a later one. GPT is one. It needs the mask of steps 6 and 7, and an encoder does not: that is why the mask is **optional**, `causal=True` or `False`.
#
# {{ path }}
#
# **By hand.** “it” is the fifth word, so it sees five words, itself among them:
#
# ```
# {{ table({"it": mask[IT]}) }}
# ```
#
# <details>
# <summary><b>In general.</b> The mask of four tokens.</summary>
#
# Row $i$ belongs to query $i$, and column $j$ to key $j$. A token sees itself and what came before it. For four tokens:
#
# $$\begin{pmatrix}1&0&0&0\\1&1&0&0\\1&1&1&0\\1&1&1&1\end{pmatrix}$$
#
# The mask is `(S, S)`, without a batch axis: it is the same for every sequence.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Which words may “the” see, at the start of the sentence?</summary>
#
# Itself, and no other.
#
# </details>

# %% [markdown] active="py"
# A decoder learns to predict the next token, so it must not look at it. A token sees itself and
# what came before it. "it" is the fifth word:
# {{ table({"mask": mask[IT]}) }}


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
# <details>
# <summary><b>After the check.</b> Why are there ones on the diagonal?</summary>
#
# Without them, the first token could see nothing at all. No shares of nothing can sum to 1.
#
# </details>

# %% [markdown]
# ## 7. Masking: the masked scores
#
# The mask says who may see whom; now the scores have to obey. That must happen **before** the softmax: a forbidden score becomes so negative that its share comes out as 0.
#
# {{ path }}
#
# **By hand.** The row of “it”:
#
# ```
# {{ table({"scaled": scaled[IT], "mask": mask[IT], "masked": masked[IT]}) }}
# ```
#
# **What it has to do.** Where the mask is 1, the score stays. Where it is 0, put a very negative number: -1e9, that is, minus a billion. Negative infinity, `-np.inf`, works too. A score of 0 will not do, since $e^0 = 1$ is a share like any other. One mask `(S, S)` serves the whole batch.
#
# <details>
# <summary><b>Before you code.</b> Why not set the forbidden shares to 0 after the softmax?</summary>
#
# Then the rest would no longer sum to 1. For “it”, only {{ number(seen_all[IT, :SEEN].sum()) }} would be left: part of the attention had gone to words that it may not see.
#
# </details>

# %% [markdown] active="py"
# Before the softmax, a forbidden score becomes so negative that its share will be 0.
# {{ table({"scaled": scaled[IT], "mask": mask[IT], "masked": masked[IT]}) }}


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
# <details>
# <summary><b>After the check.</b> What would happen without the mask?</summary>
#
# “it” would give “was” {{ number(seen_all[IT, WAS]) }} and “tired” {{ number(seen_all[IT, TIRED]) }} of its attention. In training, the model could copy the next word from its input. When it writes, there is no next word to copy.
#
# </details>

# %% [markdown]
# ## 8. Attention weights
#
# Now the scores, scaled and perhaps masked, are ready to become shares: the attention weights. You have a function for that from step 1.
#
# {{ path }}
#
# **By hand.** The row of “it”, masked, gives the shares that you know from the softmax. The forbidden words get nothing:
#
# ```
# {{ table({"masked": masked[IT], "weights": weights[IT]}) }}
# ```
#
# <details>
# <summary><b>In general.</b> What a row of weights says.</summary>
#
# Row $i$ of the result says how token $i$ divides its attention among all tokens. Scores `(B, S, S)` go in, and weights of the same shape come out. Each is between 0 and 1, and each row sums to 1.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> In an encoder there is no mask. Which scores become shares there?</summary>
#
# The scaled scores of step 5, as they are. Every token then shares its attention among all tokens.
#
# </details>

# %% [markdown] active="py"
# Now the scores, scaled and perhaps masked, become shares. You have a function for that.
# {{ table({"masked": masked[IT], "weight": weights[IT]}) }}


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
# <details>
# <summary><b>After the check.</b> What can the row of “cat” look like with the causal mask?</summary>
#
# Only “the” and “cat” can have shares. Here they are {{ listed(weights[CAT, :2]) }}: both scores are equal.
#
# </details>

# %% [markdown]
# ## 9. Weighted sum of the values
#
# The shares say how much of each token; the values are what there is to take. So each token adds up the values of all tokens, each times its share.
#
# {{ path }}
#
# **By hand.** The shares of “it” are {{ listed(weights[IT, :SEEN]) }}, and the values of the words that it sees are:
#
# ```
# {{ words_below(values, SEEN) }}
# ```
#
# For the first number: {{ dot(weights[IT, :SEEN], values[:SEEN, 0]) }}. All three are {{ vector(gathered[IT]) }}. “it” was {{ vector(x[IT]) }}, and has gathered mostly “thing”, from “cat”.
#
# <details>
# <summary><b>In general.</b> The sum, and its shape.</summary>
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, S, S)` and values `(B, S, D)` give one vector per token again, `(B, S, D)`. It is the new form of the token.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> A token gives one key the weight 1. What does it get?</summary>
#
# The value of that key, and nothing else.
#
# </details>

# %% [markdown] active="py"
# Each token adds up the values of all tokens, each times its weight. First number of "it":
# {{ dot(weights[IT, :SEEN], values[:SEEN, 0]) }}
# All three are {{ vector(gathered[IT]) }}: mostly "thing", from "cat".


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
# <details>
# <summary><b>After the check.</b> And if all its weights are equal?</summary>
#
# Then it gets the mean of all values.
#
# </details>

# %% [markdown]
# ## 10. Output projection
#
# What a token has gathered is a weighted mean of values, number by number. One last learned matrix mixes these numbers, so that the layer can pass them on in the form that the next one needs.
#
# {{ path }}
#
# **By hand.** “it” has gathered {{ vector(gathered[IT]) }}, and these are the output weights:
#
# ```
# {{ side_by_side({"output": output_weights}) }}
# ```
#
# For the first number: {{ dot(gathered[IT], output_weights[:, 0]) }}. The result is {{ vector(result[IT]) }}. The block then adds it to “it” itself, {{ vector(x[IT]) }}: in the residual stream, “it” goes on as {{ vector(x[IT] + result[IT]) }}.
#
# <details>
# <summary><b>In general.</b> The product, where the layer stands, and real sizes.</summary>
#
# $$\text{result} = \text{output}\; W_O$$
#
# The shape stays that of the input, `(B, S, D)`. A transformer is a stack of blocks. In each block, attention lets the tokens exchange, and then a small network (MLP) works on each token alone:
#
# ```
# x ──┬───────────────(+)──┬─────────(+)── next block
#     └── attention ───┘   └── MLP ───┘
# ```
#
# Here `x` is what comes in. Each part **adds** its result to it. The line that runs through is called the **residual stream**. You can only add arrays of the same shape, so the layer's output has the shape of its input.
#
# | letter | axis | for example | typical | GPT-2 small | ViT-Base |
# |---|---|---|---|---|---|
# | `B` | batch: how many sequences at once | 2 | 32 | any | any |
# | `S` | sequence: how many tokens in each | 5 | 128 | up to 1024 | 197 |
# | `D` | embedding: how many numbers describe one token | 8 | 512 | 768 | 768 |
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Why does the result need the shape of `x`?</summary>
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# </details>

# %% [markdown] active="py"
# One last matrix mixes what a token has gathered: {{ vector(gathered[IT]) }} becomes
# {{ vector(result[IT]) }} for "it". The block then adds it to "it" itself, so the shape stays.


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
# <details>
# <summary><b>After the check.</b> A single head could do with one matrix in place of value and output weights. Which?</summary>
#
# Their product, $W_V W_O$: nothing stands between them but a weighted sum. With several heads, the output weights do more. They mix what the heads have found.
#
# </details>

# %% [markdown]
# ## 11. The whole layer
#
# The class holds the four matrices and joins the steps. With `causal=True` no token sees the future; without it, every token sees all of them.
#
# {{ path }}
#
# **By hand.** “it” goes in as {{ vector(x[IT]) }} and comes out as {{ vector(causal[IT]) }}, if nothing is rounded on the way.
#
# <details>
# <summary><b>In general.</b> The whole way, with its shapes.</summary>
#
# $(B, S, D)$ goes in and comes out.
#
# ```
# {{ diagram }}
# ```
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> With the causal mask and without it, which word of the sentence gets the same result?</summary>
#
# The last one, “tired”: it sees every word in both cases.
#
# </details>

# %% [markdown] active="py"
# The class holds the four matrices and calls your steps in order; the mask only if causal is
# True. "it" goes in as {{ vector(x[IT]) }} and comes out as {{ vector(causal[IT]) }} with the mask.


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


# %% [markdown]
# <details>
# <summary><b>After the check.</b> A text becomes twice as long. How many times as many scores are there?</summary>
#
# Four times as many: $(2S)^2 = 4S^2$. That is why long texts are costly for a transformer.
#
# </details>
#
# <details>
# <summary><b>Write a first test of your own.</b> Are the shapes and the values what you expect?</summary>
#
# In the notebook, add a cell below (Esc, then B). Make a layer with 64 numbers per token, and `rng = np.random.default_rng(0)` as its second argument. Call its `.forward` with 2 sequences of 10 random tokens each. Does the output have the shape of the input, `(2, 10, 64)`? Then make the attention weights step by step: are they between 0 and 1, and does every row sum to 1? Look at shapes and values before you go on.
#
# </details>

# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# There are no more steps and no more points: the cells from here on show what you have built. Your layer gets the sentence with the numbers and the matrices that you followed by hand. They stand in the first cell, which is folded. What comes out for “it”, and where does each word look?

# %% active="ipynb"
# def the_sentence(causal):
#     layer = SingleHeadAttention(3, np.random.default_rng(0))
#     layer.query_weights = np.array({{ rows(query_weights) }}, float)
#     layer.key_weights = np.array({{ rows(key_weights) }}, float)
#     layer.value_weights = np.array({{ rows(value_weights) }}, float)
#     layer.output_weights = np.array({{ rows(output_weights) }}, float)
#     x = np.array({{ rows(x) }}, float)
#     example = {
#         "tokens": "the cat slept because it was tired".split(),
#         "token": "it",
#         "output": layer.forward(x[np.newaxis], causal=causal)[0],
#     }
#     if causal:  # this is what you followed by hand
#         example["by_hand"] = {{ vector(result[IT]) }}
#         example["exact"] = {{ vector(causal[IT], 4) }}
#     return example

# %% active="ipynb"
# from autograder import show_example
#
# show_example(lambda: the_sentence(causal=True), seen_in="compute_attention_weights")

# %% [markdown] active="ipynb"
# Read it row by row. “it” looks at “cat”, and every word sees only itself and what came before. What changes if every word sees all? Guess first, then write `causal=False` and run the cell again.

# %% [markdown]
# ## Where such matrices come from
#
# The four matrices were made up. Training finds others that do the same. It starts with random ones, and measures how far the output is from what it should be: the **loss**. Then it changes every number a little, so that the loss falls. Here a layer got the words in {{ number(ORDERS) }} orders, and only the output of your matrices as its goal. Nobody told it where to look.
#
# <details>
# <summary><b>In a picture.</b> How the loss falls, and where “it” looks on the way.</summary>
#
# {{ picture(training_picture(), TRAINING_IN_WORDS) }}
#
# </details>

# %% [markdown] active="ipynb"
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
# First it writes with plain averages in the place of attention, then through your layer. Below stands what a mistake that you met would have cost; `speak(..., mistakes=True)` tells of all, or of three others.

# %% active="ipynb"
# from autograder import speak
#
# speak(lambda embedding_dimension, rng: SingleHeadAttention(embedding_dimension, rng))
