# %% [markdown]
# # Multi-head attention in PyTorch
#
# Several heads look at the tokens at the same time. One may find the word that a pronoun stands for. Another may follow the order of the words. The axes: `B` sequences in a batch, `S` tokens in each, `C` numbers for a token (the hidden size).

# %% [markdown] active="py"
# Several heads look at the tokens at the same time, each in its own part of the hidden size. You
# know from numpy_single_head what one head does. What is new is the axis of the heads.
# The axes: B sequences in a batch, S tokens (words) in a sequence, C numbers for a token (the
# hidden size), heads. A query, a key or a value of one head has head_dim numbers.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# One layer, `Wqkv`, makes the queries, keys and values of all heads at once: in it, their layers are **fused**.
#
# {{ path }}
#
# **By hand.** “it” is {{ vector(x[IT]) }}: three numbers say what it is, and three where it stands. The first row of the weights of `Wqkv` is {{ vector(Wqkv_weight[0]) }}. Together they give the first number of a query: {{ dot(x[IT], Wqkv_weight[0]) }}. `Wqkv` has {{ number(len(Wqkv_weight)) }} such rows, and each reads the whole word. (Here, every bias is {{ number(0) }}.)
#
# `Wqkv` goes from `hidden_size` to `3 * hidden_size`, and `Wo` to `hidden_size` again. Both have a bias, unless `bias` is False.
#
# <details>
# <summary><b>In general.</b> Why two layers are enough, and who leaves out the bias.</summary>
#
# Three linear layers, for queries, keys and values, can be **fused** into one that is three times as wide. The same is true of the heads: the layers of all heads, side by side, are one layer. `Wqkv` is that layer: the heads share what comes out, not what goes in. `Wo` mixes what the heads have gathered. Several heads cost no more weights than one that is as wide as all of them together.
#
# The bias is on by default, as in BERT, GPT-2 and ViT. `bias=False` leaves it out of both layers, as the formula of the original paper does; several models do so at little cost.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> The hidden size is 8. How many numbers does the fused layer give per token with 2 heads, and how many with 4?</summary>
#
# It gives 24, both times. The number of heads does not matter here: all heads together are as wide as the hidden size.
#
# </details>

# %% [markdown] active="py"
# One fused layer, Wqkv, makes query, key and value of all heads. Wo mixes what they have gathered.
# "it" is {{ vector(x[IT]) }}. The first row of Wqkv makes of it the first number of a query:
# {{ dot(x[IT], Wqkv_weight[0]) }}. Wqkv has {{ number(len(Wqkv_weight)) }} such rows. Would more heads need more?


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * C) and Wo (C to C).
    """
    ### BEGIN SOLUTION
    Wqkv = nn.Linear(hidden_size, hidden_size * 3, bias=bias)
    Wo = nn.Linear(hidden_size, hidden_size, bias=bias)
    return Wqkv, Wo
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Can the fused layer learn less than three separate ones?</summary>
#
# No. Each number that comes out has its own row of weights and its own bias, as before. There is one large matrix product in place of three, and that is all.
#
# </details>
#
# <details>
# <summary><b>Look at your own weights.</b> What are their shapes, and how large are their numbers?</summary>
#
# Make the two layers for a hidden size of 64, and look at them: their shapes, their smallest and their largest weight. Guess first. In the notebook, add a cell below this one (Esc, then B). With the file, type into `python -i torch_multi_head.py`. PyTorch has a row for each number that comes out, so `Wqkv.weight` is `(192, 64)`. All weights lie within $1/\sqrt{64} = 0.125$ of 0, and every number there is equally likely.
#
# </details>

# %% [markdown]
# ## 2. Queries, keys and values, split into heads
#
# The fused layer gives every token one long row of numbers. Each head needs its queries, keys and values apart from those of the others. The heads share the hidden size evenly. A query, a key or a value of one head has `head_dim = C // heads` numbers (the head size). The axis `heads` has one place for each head.
#
# The sentence has made-up numbers, the first three as in `numpy_single_head`. The others say where a word stands: in the first part, between the parts, or in the second part.
#
# ```
# {{ sentence() }}
# ```
#
# Head 0 asks what a word is: it is the head of `numpy_single_head`, without its mask. Head 1 asks where a word stands.
#
# {{ path }}
#
# **By hand.** The row of “it” has {{ number(3 * C) }} numbers: its query, then its key, then its value. In each of them, one head follows the other:
#
# ```
# {{ in_parts(dict(zip(("query", "key", "value"), projected[0, IT].reshape(3, C))), HEAD_NAMES) }}
# ```
#
# You have three tools for that:
#
# - A **reshape** moves nothing here. It reads the same numbers in the same order, and cuts them up differently.
# - A **transpose** makes two axes change places, which it takes by their numbers. It moves nothing in memory, but changes the order in which the numbers are read.
# - **`unbind`** gives a tensor for each place along one axis. All of them look at the same memory.
#
# <details>
# <summary><b>In general.</b> The shapes on the way.</summary>
#
# A reshape gives the 3 and the heads an axis each. Then the sequence axis and the head axis change places, so the heads stand beside the batch. There a matrix product runs for every head by itself. Last, the tensor comes apart along the 3:
#
# ```
#   (B, S, 3 * C)
# → (B, S, 3, heads, head_dim)
# → (B, heads, 3, S, head_dim)
# → (B, heads, S, head_dim), three times
# ```
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You reshape the queries straight to (heads, S, head_dim). What does head 0 get for “cat”?</summary>
#
# It gets {{ vector(queries_cut_across[0, CAT]) }}: what head 1 should get for “the”. The shape is right and the numbers are wrong. Only a transpose makes axes change places.
#
# </details>

# %% [markdown] active="py"
# What a word is (as in numpy_single_head), and in which part of the sentence it stands:
# {{ sentence() }}
# Head 0 asks what a word is, head 1 where it stands: {{ number(HEADS) }} heads, and head_dim = C // heads.
# Wqkv has made one long row of "it", {{ number(3 * C) }} numbers. You cut it up, for every word:
# {{ in_parts(dict(zip(("query", "key", "value"), projected[0, IT].reshape(3, C))), HEAD_NAMES) }}
# A reshape cuts up numbers in order. Which axes have to change places so that heads stand before S?


# %%
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
    ### BEGIN SOLUTION
    B, S, three_C = projected.shape
    head_dim = three_C // (3 * num_heads)
    parts = projected.reshape(B, S, 3, num_heads, head_dim)
    queries, keys, values = parts.transpose(1, 3).unbind(dim=2)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> How many numbers were copied to split the heads?</summary>
#
# None, if you used a reshape, a transpose and `unbind`. All three tensors look at the numbers that the fused layer made.
#
# </details>

# %% [markdown]
# ## 3. Attention scores
#
# Each head compares its own queries and keys by dot products, as in step 4 of `numpy_single_head`. What is new is the head axis: it stands beside the batch, and the matrix product leaves both alone.
#
# {{ path }}
#
# **By hand.** In the first head, the query of “it” is {{ vector(queries[0, IT]) }} and the key of “cat” is {{ vector(keys[0, CAT]) }}. Their score is {{ dot(queries[0, IT], keys[0, CAT]) }}. In the second head, “it” meets “was”: {{ dot(queries[1, IT], keys[1, WAS]) }}. Both rows of “it”:
#
# ```
# {{ of_it(scores) }}
# ```
#
# The first head asks what a word is, and finds “cat”. The second finds the words nearby.
#
# <details>
# <summary><b>In general.</b> All pairs in one matrix product.</summary>
#
# One matrix product for each head and sequence gives all pairs at once:
#
# $$\text{scores}_{ij} = q_i \cdot k_j \qquad\text{so}\qquad \text{scores} = Q K^\top$$
#
# The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis and the head axis alone. So keys become `(B, heads, head_dim, S)`. The result is `(B, heads, S, S)`: in every head, a row for each query and a column for each key.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many scores does this sentence have, in both heads together?</summary>
#
# It has {{ number(scores.numel()) }}: in each of {{ number(HEADS) }} heads, {{ number(S) }} queries meet {{ number(S) }} keys.
#
# </details>

# %% [markdown] active="py"
# As in step 4 of numpy_single_head, in every head by itself. "it" meets "cat" in head 0, and "was"
# in head 1: {{ dot(queries[0, IT], keys[0, CAT]) }} and {{ dot(queries[1, IT], keys[1, WAS]) }}. Both rows of "it":
# {{ of_it(scores) }}
# Batch and heads stay in front. Which two axes of the keys change places?


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B heads S head_dim"], keys: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S S"]:
    """Compare every query with every key of the same head.

    queries: (B, heads, S, head_dim). keys: (B, heads, S, head_dim).
    Returns attention_scores: (B, heads, S, S); entry (b, h, i, j) is query i times key j.
    """
    ### BEGIN SOLUTION
    return queries @ keys.transpose(-2, -1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Does a query of head 0 ever meet a key of head 1?</summary>
#
# No. A matrix product runs over the last two axes and leaves those in front apart, batch and heads. The heads meet later, in the output projection.
#
# </details>

# %% [markdown]
# ## 4. Scaling
#
# The scores are divided by a square root, as in step 5 of `numpy_single_head`. What counts is the size of the **head**, not the hidden size, since that is what the dot product runs over. With several heads, it is easy to mistake one for the other.
#
# {{ path }}
#
# **By hand.** In each head, a query has {{ number(head_dim) }} numbers, and the square root of that is {{ number(head_dim ** 0.5, 3) }}. In the first head, the score of “cat” becomes {{ number(scores[0, IT, CAT]) }} / {{ number(head_dim ** 0.5, 3) }} = {{ number(scaled[0, IT, CAT]) }}. Both rows of “it”:
#
# ```
# {{ of_it(scaled) }}
# ```
#
# <details>
# <summary><b>In general.</b> The formula, and what stays.</summary>
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# A dot product adds up `head_dim` products, so its standard deviation grows like $\sqrt{\mathit{head\_dim}}$. The shape stays `(B, heads, S, S)`.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> A model doubles both its hidden size and its number of heads. By what are the scores divided now?</summary>
#
# By the same number as before. The heads are as wide as they were, and only their width counts.
#
# </details>

# %% [markdown] active="py"
# As in step 5 of numpy_single_head. A dot product runs over the {{ number(head_dim) }} numbers of one head, not over C;
# the square root is {{ number(head_dim ** 0.5, 3) }}. Both rows of "it", scaled:
# {{ of_it(scaled) }}


# %%
def scale_scores(
    attention_scores: Float[Tensor, "B heads S S"], head_dim: int
) -> Float[Tensor, "B heads S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, heads, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, heads, S, S).
    """
    ### BEGIN SOLUTION
    return attention_scores / math.sqrt(head_dim)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would happen if you divided by the root of the hidden size?</summary>
#
# The shares would come out flatter: “cat” would get {{ number(too_flat[0, IT, CAT]) }} in place of {{ number(weights[0, IT, CAT]) }} in head 0. No error would tell you.
#
# </details>

# %% [markdown]
# ## 5. Attention weights
#
# In every head, each row of scores becomes shares that sum to 1, as in step 1 of `numpy_single_head`. PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs.
#
# **Why several heads?** In a single head, a token has one row of shares. Whatever it gives to one word, it takes from the others. So a single head would have to mix what it looks for. With several heads, a token has a row of shares in each. It can look for several things at once, and relies less on any one of them.
#
# {{ path }}
#
# **By hand.** The row of “it” in the second head, step by step:
#
# ```
# {{ table(softmax_rows) }}
# ```
#
# The third row sums to {{ number(powers_sum) }}, and each share is its part of that. Now both heads:
#
# ```
# {{ of_it(weights) }}
# ```
#
# The first head gives “cat” more than half. The second divides most of its attention among the words nearby.
#
# <details>
# <summary><b>In general.</b> The formula of a share.</summary>
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# In every head, row $i$ says how token $i$ divides its attention among all tokens. The shape stays `(B, heads, S, S)`.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many rows of shares does “it” have?</summary>
#
# It has {{ number(HEADS) }}, one in each head, and each sums to 1. In a single head it would have one row for everything.
#
# </details>

# %% [markdown] active="py"
# Scores become shares, as in step 1 of numpy_single_head. PyTorch's own softmax is stable: use it.
# {{ of_it(weights) }}
# "it" looks for two things at once: each head has a row of shares, and each row sums to 1.
# Along which dimension does the softmax run, so that the heads do not compete?


# %%
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads S S"],
) -> Float[Tensor, "B heads S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, S, S).
    Returns attention_weights: (B, heads, S, S), each row along the last axis sums to 1.
    """
    ### BEGIN SOLUTION
    return scaled_scores.softmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would happen if the softmax ran along the head axis?</summary>
#
# The heads would compete. For “it” and “cat”, head 0 would get {{ number(across_heads[0, IT, CAT]) }} and head 1 {{ number(across_heads[1, IT, CAT]) }}, and no row would be shared among the words.
#
# </details>

# %% [markdown]
# ## 6. Weighted sum of the values
#
# In every head, each token adds up the values of all tokens, each times its share, as in step 9 of `numpy_single_head`. What is new: each head has values of its own, and what the heads gather is not mixed yet.
#
# {{ path }}
#
# **By hand.** In the first head, these are the values and the shares of “it”:
#
# ```
# {{ values_and_shares(0) }}
# ```
#
# For the first number: {{ dot(weights[0, IT], values[0, :, 0]) }}. In the first head “it” gathers {{ vector(gathered[0, IT]) }}, mostly from “cat”. In the second it gathers {{ vector(gathered[1, IT]) }}.
#
# <details>
# <summary><b>In general.</b> The sum, and its shape.</summary>
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, heads, S, S)` and values `(B, heads, S, head_dim)` give one narrow vector per token and head, `(B, heads, S, head_dim)`.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> In all heads together, how many numbers does a token gather?</summary>
#
# It gathers `heads * head_dim` numbers. That is `C`, as many as it had at the start.
#
# </details>

# %% [markdown] active="py"
# In every head, a token adds up all values, each times its share. First number of "it" in head 0:
# {{ dot(weights[0, IT], values[0, :, 0]) }}
# All of head 0: {{ vector(gathered[0, IT]) }}, mostly from "cat". Head 1: {{ vector(gathered[1, IT]) }}.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads S S"], values: Float[Tensor, "B heads S head_dim"]
) -> Float[Tensor, "B heads S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, S, S). values: (B, heads, S, head_dim).
    Returns attention_output: (B, heads, S, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Can a head look at one thing and pass on another?</summary>
#
# Yes. Its values have weights of their own. Here head 1 looks at where a word stands, but its values say what the word is.
#
# </details>

# %% [markdown]
# ## 7. Merging the heads
#
# Each token now has a piece from every head. What follows needs one vector per token again, with the pieces side by side: the way back from splitting.
#
# {{ path }}
#
# **By hand.** “it” has gathered {{ vector(gathered[0, IT]) }} in the first head and {{ vector(gathered[1, IT]) }} in the second. Merged, that is {{ vector(merged[IT]) }}: from `{{ shape(gathered[None]) }}` to `{{ shape(merged[None]) }}`.
#
# After a transpose, neighbors along the axes no longer lie side by side in memory: the tensor is not **contiguous**. A `view` never copies, so it refuses to join such axes. A `reshape` makes a copy in the right order where it needs one.
#
# <details>
# <summary><b>In general.</b> The shapes on the way, and an error that they do not show.</summary>
#
# ```
#   (B, heads, S, head_dim)
# → (B, S, heads, head_dim)
# → (B, S, C)
# ```
#
# First the head axis goes back behind the sequence axis, then the last two axes become one. Without the first move the shape is still right, but a token then holds numbers of other tokens. The layer would even train, only worse. A look at the shapes cannot find that error.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You reshape without the first move. What does the first word, “the”, get?</summary>
#
# It gets {{ vector(merged_across[0]) }}. That is what “the” and “cat” have gathered, both in head 0.
#
# </details>

# %% [markdown] active="py"
# Each word gets one vector again, its heads side by side. For "it", head 0 and head 1:
# {{ vector(gathered[0, IT]) }} and {{ vector(gathered[1, IT]) }} make {{ vector(merged[IT]) }}
# A right shape is not enough: a row may hold two words of one head. Which axes change places first?


# %%
def merge_heads(attention_output: Float[Tensor, "B heads S head_dim"]) -> Float[Tensor, "B S C"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, S, head_dim).
    Returns merged: (B, S, C), with C = heads * head_dim.
    """
    ### BEGIN SOLUTION
    B, _, S, _ = attention_output.shape
    return attention_output.transpose(1, 2).reshape(B, S, -1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Why did splitting the heads need no copy, when merging does?</summary>
#
# Splitting began with a reshape of numbers in order. Here the two pieces of a token begin {{ number(far) }} numbers apart in memory. In the merged vector they have to be side by side, so somebody has to move them.
#
# </details>

# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors, the heads stand side by side, and none knows what another has found. One last layer, `Wo`, mixes them. A linear layer that you call multiplies by its transposed weight and adds its bias.
#
# {{ path }}
#
# **By hand.** “it” has gathered {{ vector(merged[IT]) }}, and the first row of the weights of `Wo` is {{ vector(Wo_weight[0]) }}. It adds what both heads found: {{ dot(merged[IT], Wo_weight[0]) }}. The result is {{ vector(result[IT]) }}.
#
# The block then adds it to “it”, {{ vector(x[IT]) }}. In the residual stream, “it” goes on as {{ vector(x[IT] + result[IT]) }}.
#
# <details>
# <summary><b>In general.</b> The formula, and where the layer stands.</summary>
#
# $$\text{result} = \text{merged}\; W_O^\top + b_O$$
#
# Every number that comes out can depend on all heads. The shape stays `(B, S, C)`, so the block can add the result to what came in (step 10 of `numpy_single_head`). In GPT-2 and in a Vision Transformer (ViT), a norm before each part brings the numbers of each token to the same spread:
#
# ```
# tokens + positions ──┬────────────────────(+)──┬──────────────(+)── next block
#                      └─ norm ── attention ─┘   └─ norm ── MLP ─┘
# ```
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Without this last layer, which heads could the first number of the result depend on?</summary>
#
# Only on head 0, whose numbers stand first.
#
# </details>

# %% [markdown] active="py"
# The heads stand side by side; Wo mixes them. The first number of "it" adds what both heads found:
# {{ dot(merged[IT], Wo_weight[0]) }}
# A linear layer multiplies by its transposed weight and adds its bias when it is called.


# %%
def project_output(merged: Float[Tensor, "B S C"], Wo: nn.Linear) -> Float[Tensor, "B S C"]:
    """Mix what the heads have gathered.

    merged: (B, S, C), the heads side by side. Wo: the linear layer from C to C.
    Returns the layer's output: (B, S, C).
    """
    ### BEGIN SOLUTION
    return Wo(merged)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Why does the result have to have as many numbers per token as the input?</summary>
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# </details>

# %% [markdown]
# ## 9. The whole layer
#
# The class keeps the two layers as attributes `Wqkv` and `Wo`, so that PyTorch finds their parameters, and joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# {{ path }}
#
# **By hand.** “it” goes in as {{ vector(x[IT]) }} and comes out as {{ vector(unmasked[IT]) }}, if nothing is rounded on the way.
#
# The number of heads has to divide the hidden size: with a remainder, some numbers would belong to no head. If it does not, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.
#
# A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# <details>
# <summary><b>In general.</b> The whole way with its shapes, and real sizes.</summary>
#
# $(B, S, C)$ goes in and comes out.
#
# ```
# {{ diagram }}
# ```
#
# | name | axis | by hand | in most examples | Transformer | GPT-2 small | ViT-B/16 |
# |---|---|---|---|---|---|---|
# | `B` | batch: how many sequences at once | 1 | 3 | any | any | any |
# | `S` | sequence: how many tokens in each | 7 | 5 | any | up to 1024 | 197 |
# | `C` | hidden size: how many numbers describe one token | 6 | 8 | 512 | 768 | 768 |
# | `heads` | heads: how many there are | 2 | 2 | 8 | 12 | 12 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 3 | 4 | 64 | 64 | 64 |
#
# The sizes of the Transformer are from “Attention Is All You Need” (2017). Those of ViT-B/16 are from “An Image Is Worth 16x16 Words” (2020), and those of GPT-2 from its code (2019). GPT-2 small and ViT-B/16 have 12 blocks each.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Which numbers of heads can share a hidden size of 6?</summary>
#
# 1, 2, 3 and 6. The heads then have 6, 3, 2 or 1 numbers each. With 4 heads, 2 numbers would be left over.
#
# </details>

# %% [markdown] active="py"
# The class keeps the two layers as Wqkv and Wo and calls your steps in order. "it" goes in as
# {{ vector(x[IT]) }} and comes out as {{ vector(unmasked[IT]) }}.
# Heads that do not divide the hidden size are the caller's mistake: say so in __init__, at once.


# %%
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
        ### BEGIN SOLUTION
        assert hidden_size % num_heads == 0, f"{num_heads} heads cannot share {hidden_size} evenly"
        self.num_heads = num_heads
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others, in every head.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(merge_heads(attention_output), self.Wo)
        ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> You put the words of a sentence into another order, each with its own numbers. What changes in the output?</summary>
#
# Only the order of its rows. The layer itself does not see any order: a token knows its place only if its numbers say so. That is why positions are added to the tokens.
#
# </details>
#
# <details>
# <summary><b>Write a first test of your own.</b> Are the shapes and the values what you expect?</summary>
#
# In the notebook, add a cell below this one (Esc, then B). Make a layer with 8 numbers per token and 2 heads, and give it 2 random sequences of 4 tokens. Does the output have the shape of the input, `(2, 4, 8)`?
#
# Then call the steps one by one. The fused layer gives `(2, 4, 24)`. Cut up, that is `(2, 4, 3, 2, 4)`, and with the heads beside the batch `(2, 2, 3, 4, 4)`. Queries, keys and values are `(2, 2, 4, 4)` each. Are the weights between 0 and 1, and does each row sum to 1? Here `S` and `head_dim` are both 4, so a mix-up of these axes would not show. Try 5 tokens, too.
#
# </details>

# %% [markdown]
# ## 10. Bonus: the causal layer
#
# So far every token sees all others, as in an encoder such as a ViT, and your layer needs no mask. A decoder such as GPT predicts the next token, and looking at it would be cheating. So token $i$ may gather only from itself and the tokens before it (steps 6 and 7 of `numpy_single_head`). The mask is **optional**, since only a decoder needs it.
#
# {{ path }}
#
# **By hand.** In the first head, “it” may no longer see “was” and “tired”:
#
# ```
# {{ table({"scaled": scaled[0, IT], "masked": masked[0, IT], "weights": masked_weights[0, IT]}) }}
# ```
#
# Before the softmax, the scores of later tokens become negative infinity, so that their share is zero. A very negative number, such as minus a billion, works as well. Sequences have different lengths, so the mask takes its size from the one that comes in.
#
# The class builds on yours: it has the same `__init__` and the same two layers. You only write a new `forward`. Without `causal=True`, it does what `MultiHeadAttention` does.
#
# <details>
# <summary><b>In general.</b> The formula, and the place of the mask.</summary>
#
# $$\text{masked scores}_{ij} = \begin{cases} \text{scaled scores}_{ij} & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}$$
#
# The share of such a score is $e^{-\infty} = 0$.
#
# ```
# {{ diagram }}
# ```
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many masks do two heads and a batch of three sequences need?</summary>
#
# One, `(S, S)`. Who may see whom depends on the places alone, and they are the same in every head and every sequence.
#
# </details>

# %% [markdown] active="py"
# A decoder may not look ahead (steps 6 and 7 of numpy_single_head). "it" in head 0, with the mask:
# {{ table({"scaled": scaled[0, IT], "masked": masked[0, IT], "weight": masked_weights[0, IT]}) }}
# Later scores become negative infinity, or a very negative number such as -1e9. You write forward
# only, and without causal=True it does what the class above does.


# %%
class CausalMultiHeadAttention(MultiHeadAttention):
    """Multi-head self-attention that can hide the future."""

    def forward(self, x: Float[Tensor, "B S C"], causal: bool = False) -> Float[Tensor, "B S C"]:
        """Let every token gather from all; with `causal`, only from itself and earlier ones.

        x: (B, S, C). causal: whether later tokens are hidden.
        Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        if causal:
            S = x.shape[1]
            visible = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()
            scaled_scores = scaled_scores.masked_fill(~visible, -math.inf)
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(merge_heads(attention_output), self.Wo)
        ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> With the mask and without it, which word of the sentence gets the same result?</summary>
#
# The last one, “tired”: it sees every word in both cases.
#
# </details>

# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# There are no more steps and no more points: the cells from here on show what you have built. Your layer gets the sentence with the numbers and the weights that you followed by hand. They stand in the first cell, which is folded. What comes out for “it”, and where does each word look in each head?

# %% active="ipynb"
# def the_sentence(heads, kind=MultiHeadAttention, **causal):
#     layer = kind(hidden_size=6, num_heads=heads)
#     x = torch.tensor({{ rows(x, 4) }}).float()
#     with torch.no_grad():
#         for parameter in layer.parameters():
#             parameter.zero_()
#         layer.Wqkv.weight.copy_(torch.tensor({{ rows(Wqkv_weight) }}))
#         layer.Wo.weight.copy_(torch.tensor({{ rows(Wo_weight) }}))
#         output = layer(x[None], **causal)[0]
#     example = {
#         "tokens": "the cat slept because it was tired".split(),
#         "token": "it",
#         "output": output,
#     }
#     if heads == 2 and not causal:  # this is what you followed by hand
#         example["by_hand"] = {{ vector(result[IT]) }}
#         example["exact"] = {{ vector(unmasked[IT], 4) }}
#     return example

# %% active="ipynb"
# from autograder import show_example
#
# show_example(lambda: the_sentence(heads=2), seen_in="compute_attention_weights")

# %% [markdown] active="ipynb"
# Head 0 asks what a word is: “it” looks at “cat”. Head 1 asks where a word stands: each word looks around itself. Now change `heads=2` to `heads=1`, and guess first: where does “it” look, if one head has to do both?
#
# <details>
# <summary><b>When you have tried.</b> Where does “it” look with a single head?</summary>
#
# “cat” gets {{ number(one_head[IT, CAT]) }} in place of {{ number(weights[0, IT, CAT]) }}, no more than “it” itself and “tired”. The scores of the single head add up what the two heads looked for: a thing, and a word nearby. So one row of shares mixes the two.
#
# </details>

# %% [markdown] active="ipynb"
# With the bonus, the two heads may not look ahead. Everything above the diagonal is 0, and each row is shared among fewer words.

# %% active="ipynb"
# show_example(
#     lambda: the_sentence(heads=2, kind=CausalMultiHeadAttention, causal=True),
#     seen_in="compute_attention_weights",
# )

# %% [markdown] active="ipynb"
# ## Your layer beside the library's
#
# PyTorch has this layer built in: `nn.MultiheadAttention`. It keeps the fused weights as `in_proj_weight`, in the order query, key, value, and calls the output layer `out_proj`. With the weights of your layer, it should give the same numbers, up to rounding. Here $(B, S, C) = (2, 5, 12)$, with 3 heads.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = MultiHeadAttention(hidden_size=12, num_heads=3)
#     library = nn.MultiheadAttention(12, 3, batch_first=True)
#     with torch.no_grad():
#         library.in_proj_weight.copy_(layer.Wqkv.weight)
#         library.in_proj_bias.copy_(layer.Wqkv.bias)
#         library.out_proj.weight.copy_(layer.Wo.weight)
#         library.out_proj.bias.copy_(layer.Wo.bias)
#     x = torch.randn(2, 5, 12)
#     return layer(x), library(x, x, x, need_weights=False)[0]
#
#
# compare_with_library(yours_and_the_librarys, "nn.MultiheadAttention")

# %% [markdown] active="ipynb"
# ## Your layer learns
#
# So far, the weights were chosen by hand. Now a small model finds its own, in a few seconds. It is a Transformer of two blocks, and the attention in both is your layer, with three heads.
#
# It reads six digits and six blanks: $(B, S, C) = (50, 12, 42)$. Watch the loss, and where each answer looks. Of all heads, you see the one that has made up its mind the most, so it can change on the way.

# %% active="ipynb"
# from autograder import train
#
# train("repeat", lambda hidden_size: MultiHeadAttention(hidden_size, num_heads=3))

# %% [markdown] active="ipynb"
# With the bonus, a model can write: the sorted digits, one after the other, as a GPT writes words. While it is trained, it reads the right answer, and your mask hides what comes later. Then it has to write alone.
#
# When it has written, see what the mask does: change `causal=True` to `causal=False` below, and run the cell again. The loss gets better. And what does the model write?

# %% active="ipynb"
# train(
#     "write",
#     lambda hidden_size: CausalMultiHeadAttention(hidden_size, num_heads=3),
#     causal=True,
# )

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
