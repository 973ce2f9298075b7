# %% [markdown]
# # Single-head attention in PyTorch
#
# This is the layer of `numpy_single_head` as a PyTorch module, whose weights an optimizer can train. The sentence stays the same. The axes: `B` sequences in a batch, `S` tokens in each, `C` numbers for a token (the hidden size).

# %% [markdown] active="py"
# This is the layer of numpy_single_head, as a PyTorch module: an optimizer can train its weights.
# You follow the same sentence, with the same weights, rounded to two places.
# The axes: B sequences in a batch, S tokens (words) in a sequence, C numbers for a token (the
# hidden size). A query, a key or a value has head_dim numbers.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# In step 3 of `numpy_single_head`, three products had the same input. So three linear layers can be **fused** into a wide one, `Wqkv`.
#
# {{ path }}
#
# **By hand.** For a hidden size of {{ number(C) }}, a query, a key or a value has {{ number(head_dim) }} numbers: `head_dim`, the head size. `Wqkv` makes {{ number(3 * head_dim) }} numbers from {{ number(C) }}; PyTorch keeps its weight as (out, in), here {{ shape_of(layer.Wqkv.weight) }}. `Wo` goes back: its weight is {{ shape_of(layer.Wo.weight) }}.
#
# - `Wqkv`: from `hidden_size` to `3 * head_dim`, where `head_dim` is `hidden_size // 4`, in whole numbers
# - `Wo`: from `head_dim` back to `hidden_size`. Both layers have a bias, unless `bias` is False.
#
# <details>
# <summary><b>In general.</b> Why a quarter, real sizes, and who leaves out the bias.</summary>
#
# In multi-head attention a head is narrower than the hidden size. With a single head any width would do; here it is a quarter, `head_dim = C // 4`.
#
# | name | axis | by hand | GPT-2 small | ViT-Base |
# |---|---|---|---|---|
# | `C` | hidden size: how many numbers describe one token | 12 | 768 | 768 |
# | `head_dim` | head size: how many numbers a query, key or value has | 3 | 64 | 64 |
#
# The bias is on by default, as in BERT, GPT-2 and ViT. `bias=False` leaves it out of both layers. The formula of the original paper has none. Later models such as PaLM and Cramming train without: that saves memory and time, and costs little.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How wide is `Wqkv` for a hidden size of 10?</summary>
#
# It is 6 wide. `head_dim` is 2, with a remainder of 2, and 3 times 2 is 6. Dividing last instead (`10 * 3 // 4` is 7) would give a width that cannot be cut into three.
#
# </details>

# %% [markdown] active="py"
# One layer, Wqkv, makes query, key and value at once. Wo goes back to the hidden size.
# For C = {{ number(C) }}, head_dim is {{ number(head_dim) }}. PyTorch keeps a weight as (out, in):
# Wqkv.weight is {{ shape_of(layer.Wqkv.weight) }}, Wo.weight is {{ shape_of(layer.Wo.weight) }}.
# For C = 10 there is a remainder. Can the width of your Wqkv still be cut into three equal parts?


# %%
def create_projections(hidden_size: int, bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make the two linear layers.

    hidden_size: C, the size of a token's vector. bias: whether both layers have one.
    Returns Wqkv (C to 3 * head_dim) and Wo (head_dim to C), where head_dim is C // 4.
    """
    ### BEGIN SOLUTION
    head_dim = hidden_size // 4
    Wqkv = nn.Linear(hidden_size, head_dim * 3, bias=bias)
    Wo = nn.Linear(head_dim, hidden_size, bias=bias)
    return Wqkv, Wo
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> How many weights would three separate layers have, and how many has `Wqkv`?</summary>
#
# Both have {{ number(three_layers) }}, for a hidden size of {{ number(C) }}. The numbers that come out are the same, too. There is only one matrix product in place of three.
#
# </details>
#
# <details>
# <summary><b>Look at your own weights.</b> What are their shapes, and how large are their numbers?</summary>
#
# Make both layers for a hidden size of 64. Print the shape of each weight, and the smallest and the largest number in it. In the notebook, add a cell below this one (Esc, then B). With the file, type into `python -i torch_single_head.py`. PyTorch draws them evenly between $-1/\sqrt{n}$ and $1/\sqrt{n}$, where $n$ is how many numbers go in. Which of the two layers has larger weights?
#
# </details>

# %% [markdown]
# ## 2. Queries, keys and values
#
# The fused layer gives one long row per token. Now you take it apart into what the token looks for (query), what it offers for a match (key), and what it passes on (value).
#
# Each word has the three made-up numbers of `numpy_single_head` and nine zeros, so $(B, S, C) = (1, 7, 12)$. Without the zeros:
#
# ```
# {{ table({"thing": x[:, 0], "happens": x[:, 1], "leans": x[:, 2]}) }}
# ```
#
# {{ path }}
#
# **By hand.** “it” is {{ vector(x[IT, :head_dim]) }}, and nine zeros. `Wqkv` makes of it:
#
# ```
# {{ "   ".join(listed(part) for part in fused[IT].reshape(3, head_dim)) }}
# {{ parts_below() }}
# ```
#
# “it” looks for a thing: the first number of its query is the largest.
#
# A reshape gives the three parts an axis of their own, and `unbind` takes the tensor apart along it. The new axis stands **in front of** `head_dim`, because the numbers of one query lie next to each other.
#
# <details>
# <summary><b>In general.</b> The shapes on the way.</summary>
#
# $$(B, S, 3 \cdot \mathit{head\_dim}) \;\to\; (B, S, 3, \mathit{head\_dim}) \;\to\; 3 \times (B, S, \mathit{head\_dim})$$
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Which of the numbers of “it” would be its key, if the new axis stood behind `head_dim`?</summary>
#
# Every third number, from the second on: {{ vector(fused[IT].reshape(head_dim, 3)[:, 1]) }}. That mixes query, key and value. The key is {{ vector(keys[IT]) }}.
#
# </details>

# %% [markdown] active="py"
# A word has the three numbers of numpy_single_head and nine zeros. Without the zeros:
# {{ table({"thing": x[:, 0], "happens": x[:, 1], "leans": x[:, 2]}) }}
# Wqkv makes one long row of "it", and you cut it into three:
# {{ "   ".join(listed(part) for part in fused[IT].reshape(3, head_dim)) }}
# {{ parts_below() }}
# The numbers of one query lie next to each other. Where does the axis of the three stand, then?


# %%
def project_qkv(
    x: Float[Tensor, "B S C"], Wqkv: nn.Linear
) -> tuple[
    Float[Tensor, "B S head_dim"], Float[Tensor, "B S head_dim"], Float[Tensor, "B S head_dim"]
]:
    """Project the tokens to queries, keys and values with one fused layer.

    x: (B, S, C), the token vectors. Wqkv: the linear layer from C to 3 * head_dim.
    Returns queries, keys, values in this order: (B, S, head_dim) each.
    """
    ### BEGIN SOLUTION
    B, S, _ = x.shape
    projected = Wqkv(x)
    queries, keys, values = projected.reshape(B, S, 3, projected.shape[-1] // 3).unbind(dim=2)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Does the query of “it” depend on the other words?</summary>
#
# No. A linear layer works on each token alone. The words meet in the next step.
#
# </details>

# %% [markdown]
# ## 3. Attention scores
#
# Now queries meet keys, as in step 4 of `numpy_single_head`. The score of a pair is the dot product of its query and its key. What is new: it runs over `head_dim` numbers, and a tensor has a `transpose` that swaps two axes. It takes their numbers, counted from 0, or from -1 at the end.
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
# One matrix product for each sequence of the batch gives all pairs at once. The transpose swaps the sequence axis and the `head_dim` axis of the keys, and leaves the batch axis alone: the keys become `(B, head_dim, S)`. The result is `(B, S, S)`: a row for each query and a column for each key.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many scores does a sentence of {{ number(S) }} tokens have, and does `head_dim` matter for that?</summary>
#
# It has {{ number(scores.size) }}, one for each pair. `head_dim` does not matter: the dot product sums over it, so it is gone from the shape.
#
# </details>

# %% [markdown] active="py"
# As in step 4 of numpy_single_head: each query meets each key. "it" scores "cat"
# {{ dot(queries[IT], keys[CAT]) }}. The whole row of "it":
# {{ table({"score": scores[IT]}) }}
# A tensor's transpose swaps two axes, which it takes by number. Which two, so that the batch
# stays apart?


# %%
def compute_attention_scores(
    queries: Float[Tensor, "B S head_dim"], keys: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S S"]:
    """Compare every query with every key.

    queries: (B, S, head_dim). keys: (B, S, head_dim).
    Returns attention_scores: (B, S, S); entry (b, i, j) is query i times key j.
    """
    ### BEGIN SOLUTION
    return queries @ keys.transpose(-2, -1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> “it” scores “cat” with {{ number(scores[IT, CAT]) }}. Does “cat” score “it” the same?</summary>
#
# No, with {{ number(scores[CAT, IT]) }}. There the query of “cat” meets the key of “it”. Rows and columns of the scores are not the same thing.
#
# </details>

# %% [markdown]
# ## 4. Scaling
#
# A sum of more products spreads wider, so the scores are divided by a square root, as in step 5 of `numpy_single_head`. What is new is the number under the root. The dot product runs over the numbers of the **head**, so `head_dim` counts and not the hidden size.
#
# {{ path }}
#
# **By hand.** Here `head_dim` is {{ number(head_dim) }}, and its square root is {{ number(head_dim ** 0.5, 3) }}. The score of “cat” becomes {{ number(scores[IT, CAT]) }} / {{ number(head_dim ** 0.5, 3) }} = {{ number(scaled[IT, CAT]) }}:
#
# ```
# {{ table({"score": scores[IT], "scaled": scaled[IT]}) }}
# ```
#
# <details>
# <summary><b>In general.</b> The formula, and what stays.</summary>
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# The standard deviation of the scores grows like $\sqrt{\mathit{head\_dim}}$. The shape stays `(B, S, S)`.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> The numbers of queries and keys have a standard deviation of 1. How wide do scores spread for a `head_dim` of 64?</summary>
#
# Their standard deviation is $\sqrt{64} = 8$. After scaling it is 1, for every `head_dim`.
#
# </details>

# %% [markdown] active="py"
# As in step 5 of numpy_single_head, but a dot product now runs over head_dim numbers, not over C.
# The square root of {{ number(head_dim) }} is {{ number(head_dim ** 0.5, 3) }}.
# {{ table({"score": scores[IT], "scaled": scaled[IT]}) }}


# %%
def scale_scores(attention_scores: Float[Tensor, "B S S"], head_dim: int) -> Float[Tensor, "B S S"]:
    """Bring the scores back to a spread that does not depend on the size of the head.

    attention_scores: (B, S, S). head_dim: the size of queries and keys.
    Returns scaled_scores: (B, S, S).
    """
    ### BEGIN SOLUTION
    return attention_scores / math.sqrt(head_dim)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What if you took the root of the hidden size, 12, instead?</summary>
#
# All scores would be too close to 0, and the shares too much alike. “cat” would get {{ number(flatter[IT, CAT]) }} of the attention of “it” in place of {{ number(weights[IT, CAT]) }}.
#
# </details>

# %% [markdown]
# ## 5. Attention weights
#
# Now the scores become shares that sum to 1, as in step 1 of `numpy_single_head`. PyTorch has a softmax, and it is stable: use it. All you have to decide is along which dimension it runs.
#
# {{ path }}
#
# **By hand.** The row of “it”. This layer has no mask, so all words get a share:
#
# ```
# {{ table({"scaled": scaled[IT], "e to that": powers, "share": weights[IT]}) }}
# ```
#
# The second row sums to {{ number(powers.sum()) }}. Each share is its part of that sum. “cat” gets about half.
#
# <details>
# <summary><b>In general.</b> The formula of a share.</summary>
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# Scores `(B, S, S)` go in, and weights of the same shape come out. Row $i$ says how token $i$ divides its attention among all tokens.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> What has to sum to 1: what one query gives to all keys, or what one key gets from all queries?</summary>
#
# What one query gives: it has one whole attention to divide. A key may get much or little.
#
# </details>

# %% [markdown] active="py"
# Scores become shares, as in step 1 of numpy_single_head. PyTorch's own softmax is stable: use it.
# {{ table({"scaled": scaled[IT], "share": weights[IT]}) }}
# The row of "it" sums to 1, and there is no mask. Along which dimension does the softmax run?


# %%
def compute_attention_weights(scaled_scores: Float[Tensor, "B S S"]) -> Float[Tensor, "B S S"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, S, S).
    Returns attention_weights: (B, S, S), each row along the last axis sums to 1.
    """
    ### BEGIN SOLUTION
    return scaled_scores.softmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would happen if the shares summed to 1 down each column?</summary>
#
# Then the shares of “it”, rounded, would sum to {{ number(by_column[IT].sum()) }}. A word that everybody else ignores would still have to be looked at. No error would tell you: the shape is the same.
#
# </details>

# %% [markdown]
# ## 6. Weighted sum of the values
#
# Each token adds up the values of all tokens, each times its share, as in step 9 of `numpy_single_head`. What is new: the values have `head_dim` numbers, so a token gathers fewer numbers than it came with.
#
# {{ path }}
#
# **By hand.** These are the values and the shares of “it”:
#
# ```
# {{ table({"value": values[:, 0], "": values[:, 1], " ": values[:, 2], "share": weights[IT]}) }}
# ```
#
# For the first number of “it”:
#
# ```
# {{ dot(weights[IT], values[:, 0]) }}
# ```
#
# All three are {{ vector(gathered[IT]) }}. “it” has gathered mostly “thing”, from “cat”.
#
# <details>
# <summary><b>In general.</b> The sum, and its shape.</summary>
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, S, S)` and values `(B, S, head_dim)` give one vector per token again, `(B, S, head_dim)`.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> What does a token get that gives one key the weight 1? And one whose weights are all equal?</summary>
#
# The first gets the value of that key, and nothing else. The second gets the mean of all values.
#
# </details>

# %% [markdown] active="py"
# Each token adds up all values, each times its share, as in step 9 of numpy_single_head. First
# number of "it": {{ dot(weights[IT], values[:, 0]) }}
# All three are {{ vector(gathered[IT]) }}: mostly "thing", from "cat".


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B S S"], values: Float[Tensor, "B S head_dim"]
) -> Float[Tensor, "B S head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, S, S). values: (B, S, head_dim).
    Returns attention_output: (B, S, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> “cat” and “tired” change places. What changes for “it”?</summary>
#
# Nothing, as long as their numbers stay the same: a sum has no order. That is why the position is added to the embedding, before the first block.
#
# </details>

# %% [markdown]
# ## 7. Output projection
#
# The gathered vectors are as narrow as the head, but the residual stream is as wide as the hidden size (step 10 of `numpy_single_head`). `Wo` mixes their numbers and brings them back to that width. What is new: a linear layer that you call multiplies by its transposed weight and adds its bias.
#
# {{ path }}
#
# **By hand.** “it” has gathered {{ vector(gathered[IT]) }}. These are the first three rows of the weight of `Wo`; the others are zeros:
#
# ```
# {{ side_by_side({"Wo": layer.Wo.weight[:head_dim]}) }}
# ```
#
# For the first number: {{ dot(gathered[IT], layer.Wo.weight[0]) }}. The result is {{ vector(result[IT, :head_dim]) }}, and nine zeros. The block adds it to “it” itself: {{ vector(shared.numbers(x)[IT, :head_dim] + result[IT, :head_dim]) }}.
#
# <details>
# <summary><b>In general.</b> The product, and its shape.</summary>
#
# $$\text{result} = \text{output}\; W_O^\top + b_O$$
#
# $$(B, S, \mathit{head\_dim}) \;\to\; (B, S, C)$$
#
# The layer's output has the shape of its input, so the two can be added.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Why do you not add the gathered vectors to `x` as they are?</summary>
#
# Their last axis is `head_dim`, and that of `x` is `C`. Only tensors of one shape can be added number by number.
#
# </details>

# %% [markdown] active="py"
# "it" has gathered {{ vector(gathered[IT]) }}, only head_dim numbers. Wo brings them back to C: for "it"
# {{ vector(result[IT, :head_dim]) }}, and nine zeros. The block then adds this to "it" itself.
# A linear layer multiplies by its transposed weight and adds its bias when it is called.


# %%
def project_output(
    attention_output: Float[Tensor, "B S head_dim"], Wo: nn.Linear
) -> Float[Tensor, "B S C"]:
    """Project the gathered values back to the hidden size.

    attention_output: (B, S, head_dim). Wo: the linear layer from head_dim to C.
    Returns the layer's output: (B, S, C).
    """
    ### BEGIN SOLUTION
    return Wo(attention_output)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> `Wo` makes 12 numbers out of 3. Can the result be any 12 numbers?</summary>
#
# No: it is a mix of the three columns of the weight, plus the bias. One narrow head can only say so much, which is a reason to have several.
#
# </details>

# %% [markdown]
# ## 8. The whole layer
#
# The class joins the steps. It inherits from `nn.Module`, so PyTorch finds its parameters, trains them and saves them.
#
# {{ path }}
#
# **By hand.** “it” goes in as {{ vector(x[IT, :head_dim]) }} and comes out as {{ vector(exact[IT, :head_dim]) }}, if nothing is rounded on the way. The zeros stay zeros: here every bias is {{ number(0) }}, and so are the other rows of `Wo`.
#
# The class keeps the two layers as attributes `Wqkv` and `Wo`, and joins the steps in `forward`. The checks put their own weights into the two layers, by these names.
#
# They also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place.
#
# A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# <details>
# <summary><b>In general.</b> The whole way with its shapes, and where the layer stands.</summary>
#
# $(B, S, C)$ goes in and comes out.
#
# ```
# {{ diagram }}
# ```
#
# Your layer has no mask: every token sees every other. So it belongs in an **encoder**, such as the Vision Transformer (ViT), which reads all of its input at once. A **decoder**, such as GPT, writes one token after the other and needs a causal mask. You wrote one in steps 6 and 7 of `numpy_single_head`, and the next exercise has one as its bonus.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> What would happen if `forward` made the two layers anew in every call?</summary>
#
# Each call would draw new random weights. The optimizer would never see them, so the layer could not learn.
#
# </details>

# %% [markdown] active="py"
# The class keeps the two layers as Wqkv and Wo and calls your steps in order: there is no mask.
# "it" goes in as {{ vector(x[IT, :head_dim]) }} and comes out as {{ vector(exact[IT, :head_dim]) }}, both with nine zeros.
# The layers are made once: what would an optimizer train, if each call made new ones?


# %%
class SingleHeadAttention(nn.Module):
    """Single-head self-attention.

    Attributes: Wqkv, the linear layer from C to 3 * head_dim, and Wo, from head_dim to C.
    """

    def __init__(self, hidden_size: int, bias: bool = True) -> None:
        """Make the two layers and keep them as attributes.

        hidden_size: C. bias: whether both layers have one.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        """Let every token gather from the others.

        x: (B, S, C). Returns the new token vectors: (B, S, C).
        """
        ### BEGIN SOLUTION
        queries, keys, values = project_qkv(x, self.Wqkv)
        attention_scores = compute_attention_scores(queries, keys)
        scaled_scores = scale_scores(attention_scores, keys.shape[-1])
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        return project_output(attention_output, self.Wo)
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
# In the notebook, add a cell below this one (Esc, then B). Make a layer with a hidden size of 64, and give it a batch of 2 sequences with 10 random tokens each. Does the output have the shape of the input? Sum the output, send the gradient back, and look at each parameter: does it have one that is not 0 everywhere?
#
# </details>

# %% [markdown] active="ipynb"
# ## Your layer reads a sentence
#
# There are no more steps and no more points: the cells from here on show what you have built. Your layer gets the sentence with the numbers and the weights that you followed by hand. They stand in the first cell, which is folded. What comes out for “it”, without the nine zeros, and where does each word look?

# %% active="ipynb"
# def the_sentence():
#     layer = SingleHeadAttention(hidden_size=12)
#     x = torch.zeros(1, 7, 12)
#     x[0, :, :3] = torch.tensor({{ rows(x[:, :head_dim], 4) }})
#     with torch.no_grad():
#         for parameter in layer.parameters():
#             parameter.zero_()
#         layer.Wqkv.weight[:, :3] = torch.tensor({{ rows(layer.Wqkv.weight[:, :head_dim]) }})
#         layer.Wo.weight[:3] = torch.tensor({{ rows(layer.Wo.weight[:head_dim]) }})
#         output = layer(x)[0, :, :3]
#     return {
#         "tokens": "the cat slept because it was tired".split(),
#         "token": "it",
#         "output": output,
#         "by_hand": {{ vector(result[IT, :head_dim]) }},
#         "exact": {{ vector(exact[IT, :head_dim], 4) }},
#     }

# %% active="ipynb"
# from autograder import show_example
#
# show_example(the_sentence, seen_in="compute_attention_weights")

# %% [markdown] active="ipynb"
# Read it row by row: where does “it” look, and where does “slept”? Every word sees all others here, even those that come later. The exercise on several heads has a causal layer as its bonus.
#
# ## Your layer beside the library's
#
# PyTorch has attention built in, `scaled_dot_product_attention`. It starts from queries, keys and values. Here your fused layer is taken apart into the three layers that it stands for. So you can also see that one wide layer does the work of three. The weights are those that your layer draws, and $(B, S, C) = (2, 5, 12)$.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = SingleHeadAttention(hidden_size=12)
#     x = torch.randn(2, 5, 12)
#     three_layers = zip(layer.Wqkv.weight.chunk(3), layer.Wqkv.bias.chunk(3))
#     projected = [nn.functional.linear(x, weight, bias) for weight, bias in three_layers]
#     return layer(x), layer.Wo(nn.functional.scaled_dot_product_attention(*projected))
#
#
# compare_with_library(yours_and_the_librarys, "scaled_dot_product_attention")

# %% [markdown] active="ipynb"
# ## Your layer learns
#
# So far, the weights were chosen by hand. Now a small model finds its own, in a few seconds. It is a Transformer of two blocks, and the attention in both is your layer.
#
# It reads six digits and six blanks: $(B, S, C) = (50, 12, 42)$. Watch the loss, and where each answer looks. You see the block that has made up its mind the most, so it can change on the way.

# %% active="ipynb"
# from autograder import train
#
# train("repeat", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# To repeat, an answer has to know *where* to look. To sort, it has to know *what* to look for. It is the same layer, with other weights.

# %% active="ipynb"
# train("sort", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# Now the model writes the sorted digits one after the other, as a GPT writes words. Look at the loss first, and then at what it writes. What went wrong?

# %% active="ipynb"
# train("write", lambda hidden_size: SingleHeadAttention(hidden_size))

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
