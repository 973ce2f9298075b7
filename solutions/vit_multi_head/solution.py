# %% [markdown]
# # Multi-head attention of a vision transformer in PyTorch
#
# A Vision Transformer (ViT) cuts an image into patches: its tokens. One more stands in front, the **class token**, which gathers what the image shows. You follow it in a small picture, by hand and rounded to two places. The axes: `B` images in a batch, `N` tokens in each, `D` numbers for a token, `heads`, each with its slice of `head_dim` numbers.

# %% [markdown] active="py"
# A Vision Transformer (ViT) cuts an image into patches: its tokens. The class token in front of
# them gathers what the image shows. You follow it in a small picture, rounded to two places.
# The axes: B images, N tokens in each, D numbers for a token, heads, head_dim numbers for a head.

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 1. The projections
#
# A token needs a query, a key and a value, and a fourth matrix mixes what it gathers, as in step 2 of `numpy_single_head`. What is new: here they are linear layers of PyTorch, and each has a bias. One layer makes the queries of **all** heads at once. All four map `hidden_dim` numbers to `hidden_dim` numbers.
#
# {{ path }}
#
# **By hand.** In the picture, each layer maps {{ number(D) }} numbers to {{ number(D) }}. Its weights are `{{ shape(q_weight) }}`, a row for each number that comes out: {{ number(q_weight.numel()) }} in all, and {{ number(D) }} biases. The four layers learn {{ number(learned) }} numbers.
#
# <details>
# <summary><b>In general.</b> What each layer is for, and what the heads share.</summary>
#
# - `q_linear`: what a token is looking for
# - `k_linear`: what it offers for a match
# - `v_linear`: what it passes on
# - `out_linear`: how the gathered results of all heads are mixed
#
# Later, each head takes its slice of the queries, the keys and the values. Each row of weights reads the whole token: the heads share what comes out, not what goes in.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You take twice as many heads for the same hidden dimension. What happens to the size of the four layers?</summary>
#
# Nothing. All heads together are as wide as the token, so more heads are narrower heads.
#
# </details>

# %% [markdown] active="py"
# A token needs a query, a key and a value (numpy_single_head, step 2). Here linear layers make
# them, for all heads at once, and a fourth mixes the heads. Each maps {{ number(D) }} numbers to {{ number(D) }} here, with
# {{ number(q_weight.numel()) }} weights and {{ number(D) }} biases: {{ number(learned) }} in all. Does the number of heads change the size of a layer?


# %%
def create_projections(hidden_dim: int) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
    """Make the four linear layers.

    hidden_dim: D, the size of a token's vector.
    Returns q_linear, k_linear, v_linear, out_linear in this order: D to D each, with a bias.
    """
    ### BEGIN SOLUTION
    q_linear = nn.Linear(hidden_dim, hidden_dim)
    k_linear = nn.Linear(hidden_dim, hidden_dim)
    v_linear = nn.Linear(hidden_dim, hidden_dim)
    out_linear = nn.Linear(hidden_dim, hidden_dim)
    return q_linear, k_linear, v_linear, out_linear
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> ViT-B/16 has 768 numbers per token. How many numbers do these four layers learn there, in each block?</summary>
#
# $4 \cdot (768^2 + 768)$, which is {{ of_vit_base }}.
#
# </details>
#
# <details>
# <summary><b>Look at your own weights.</b> What are their shapes, and how large are their numbers?</summary>
#
# Make the four layers for a hidden dimension of 64, and look at each: its shape, its smallest and its largest weight. Guess first. In the notebook, add a cell below this one (Esc, then B). With the file, type into `python -i vit_multi_head.py`. All weights lie within $1/\sqrt{64} = 0.125$ of 0, and every number there is equally likely. No two layers have the same ones.
#
# </details>

# %% [markdown]
# ## 2. Queries, keys and values
#
# The picture to follow has four patches. With the class token, they make a row of five tokens:
#
# {{ picture(patches(), PATCHES_IN_WORDS) }}
#
# Each token has six made-up numbers. Three say what it is: the class token, how bright, and how much it stands out. Three say where it is: left, right, low.
#
# ```
# {{ in_parts(dict(zip(TOKENS, x)), ("what it is", "where it is")) }}
# ```
#
# With the layers, every token can play its three roles, as in step 3 of `numpy_single_head`. Its query is what it asks for, its key an index card, its value a book. What is new is how a layer of PyTorch keeps its weights: a **row** for each number that comes out. When it is called, it multiplies and adds its bias.
#
# {{ path }}
#
# **By hand.** The class token is {{ vector(x[CLASS]) }}. For the third number of its query, the row of weights is {{ vector(q_weight[2]) }} and the bias {{ number(QUERY_BIAS[2]) }}. That gives {{ dot(x[CLASS], q_weight[2]) }}, and with the bias {{ number(all_queries[CLASS, 2]) }}.
#
# The whole query is {{ vector(all_queries[CLASS]) }}. The key of the cow is {{ vector(all_keys[COW]) }}, and its value is {{ vector(all_values[COW]) }}.
#
# <details>
# <summary><b>In general.</b> The three products, and their shape.</summary>
#
# $$Q = X W_Q^\top + b_Q \qquad K = X W_K^\top + b_K \qquad V = X W_V^\top + b_V$$
#
# The transpose and the bias are what a linear layer of PyTorch does when it is called. The shape stays: `(B, N, D)` goes in, and queries, keys and values are `(B, N, D)` each.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Does the query of the class token depend on the patches?</summary>
#
# Not in this layer. It is made from the class token's own vector. In a later block, that vector holds what the token has gathered before.
#
# </details>

# %% [markdown] active="py"
# The picture has sky and sun at the top, grass and cow at the bottom. Six made-up numbers say
# what a token is (class token, bright, stands out) and where (left, right, low).
# {{ in_parts(dict(zip(TOKENS, x)), ("what it is", "where it is")) }}
# A layer keeps a row of weights for each number that comes out. The class token's query, third
# number: {{ dot(x[CLASS], q_weight[2]) }}, and with the bias {{ number(all_queries[CLASS, 2]) }}.


# %%
def project_qkv(
    x: Float[Tensor, "B N D"], q_linear: nn.Linear, k_linear: nn.Linear, v_linear: nn.Linear
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """Project the tokens to queries, keys and values, one layer for each.

    x: (B, N, D), the token vectors. The three linear layers: from D to D.
    Returns queries, keys, values in this order: (B, N, D) each.
    """
    ### BEGIN SOLUTION
    queries = q_linear(x)
    keys = k_linear(x)
    values = v_linear(x)
    return queries, keys, values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would go wrong if one layer made both the queries and the keys?</summary>
#
# Then token $i$ would score token $j$ as $j$ scores $i$. The cow could not score the grass high unless the grass scored it as high. Only the shares may still differ, since each row has a sum of its own.
#
# </details>

# %% [markdown]
# ## 3. Splitting the heads
#
# Why several heads? In a single head, a token has one row of shares, which sum to 1. Whatever it gives to one patch, it takes from the others. With several heads, it has a row of shares in each. So the class token can ask in one head what stands out, and in another what is at the bottom.
#
# Each head gets its slice of every query, key and value. In the picture there are two: the first, head 0, asks what a token is. The second, head 1, asks where it is.
#
# {{ path }}
#
# **By hand.** These are the queries of two tokens. Head by head, they fall into two slices:
#
# ```
# {{ in_parts(dict(zip(TOKENS, all_queries[:SUN])), HEAD_NAMES) }}
# ```
#
# For the whole picture, `{{ shape(projected[0]) }}` becomes `{{ shape(split[0]) }}`.
#
# **What it has to do.** It makes two moves:
#
# ```
#   (B, N, D)
# → (B, N, heads, head_dim)
# → (B, heads, N, head_dim)
# ```
#
# - The first move is a **`view`**: the same numbers in the same order, read with other axes. It cuts the last axis in two, and no number moves to another token. The first `head_dim` numbers belong to the first head, the next to the second, and so on.
# - The second is a **`permute`**: you give it the numbers of the old axes in their new order. So `t.permute(1, 0)` turns rows into columns.
#
# <details>
# <summary><b>In general.</b> Why the heads go to the front, what is copied, and how they share.</summary>
#
# At the front, beside the batch, each matrix product that follows runs for every head by itself. You split three times: the queries, the keys and the values.
#
# A `view` has as many numbers as before, and copies none of them. A `permute` copies nothing either, but the numbers are now read in another order.
#
# The heads share the hidden dimension evenly, `head_dim = D // heads`, so their number has to divide it. With a remainder, some numbers would belong to no head.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You take a view of the queries straight to the last shape. What does head 0 get for “sky”?</summary>
#
# It gets {{ vector(cut_across[0, SKY]) }}: what head 1 should get for the class token. The shape is right, but the view cuts across the tokens. A view never moves an axis.
#
# </details>

# %% [markdown] active="py"
# With several heads, a token can ask for several things at once. Here head 0 asks what a token is,
# and head 1 asks where it is. Each gets its slice of every query, key and value:
# {{ in_parts(dict(zip(TOKENS, all_queries[:SUN])), HEAD_NAMES) }}
# The way has two moves: (B, N, D), then (B, N, heads, head_dim), then (B, heads, N, head_dim).
# Reading the numbers straight in the last shape runs too, but it mixes the tokens.


# %%
def split_heads(
    projected: Float[Tensor, "B N D"], num_heads: int
) -> Float[Tensor, "B heads N head_dim"]:
    """Give every head its slice of each token's vector.

    projected: (B, N, D), the queries, keys or values. num_heads: how many heads share D.
    Returns the slices: (B, heads, N, head_dim), where head_dim is D // heads.
    """
    ### BEGIN SOLUTION
    B, N, D = projected.shape
    return projected.view(B, N, num_heads, D // num_heads).permute(0, 2, 1, 3)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Does a token lose anything when its query is cut into heads?</summary>
#
# No number is lost, and none is changed. But from now on each head compares only its own slice.
#
# </details>

# %% [markdown]
# ## 4. Scaled attention scores
#
# Queries meet keys, and the scores are scaled, as in steps 4 and 5 of `numpy_single_head`. What is new: each head compares its own slices, and no others. So a dot product adds up `head_dim` products. What counts is the size of the **head**, not the hidden dimension: you divide by $\sqrt{\mathit{head\_dim}}$.
#
# {{ path }}
#
# **By hand.** In the second head, the class token's query is {{ vector(queries[1, CLASS]) }} and the cow's key is {{ vector(keys[1, COW]) }}: {{ dot(queries[1, CLASS], keys[1, COW]) }}. A query has {{ number(head_dim) }} numbers, and the square root of that is {{ number(head_dim ** 0.5, 3) }}. So the scaled score is {{ number(scores[1, CLASS, COW]) }} / {{ number(head_dim ** 0.5, 3) }} = {{ number(scaled[1, CLASS, COW]) }}. Both rows of the class token:
#
# ```
# {{ of_class_token(scaled) }}
# ```
#
# <details>
# <summary><b>In general.</b> All pairs in one matrix product per head, and why they are scaled.</summary>
#
# $$\text{scaled scores} = \frac{Q K^\top}{\sqrt{\mathit{head\_dim}}}$$
#
# The transpose swaps the token axis and the `head_dim` axis of the keys, `(B, heads, head_dim, N)`, and leaves batch and heads alone. The result is `(B, heads, N, N)`: in every head, a row for each query and a column for each key.
#
# The standard deviation of a dot product grows like $\sqrt{\mathit{head\_dim}}$. Unscaled, the softmax of a wide head would put nearly all the weight on one token, and its gradient would all but vanish.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> How many scores does this picture have, in both heads together?</summary>
#
# It has {{ number(scaled.numel()) }}: in each of {{ number(HEADS) }} heads, {{ number(N) }} queries meet {{ number(N) }} keys.
#
# </details>

# %% [markdown] active="py"
# Each head compares its own slices (numpy_single_head, steps 4 and 5). In head 1, the class token
# scores the cow {{ dot(queries[1, CLASS], keys[1, COW]) }}. A slice has {{ number(head_dim) }} numbers, and their root counts:
# scaled, the score is {{ number(scores[1, CLASS, COW]) }} / {{ number(head_dim ** 0.5, 3) }} = {{ number(scaled[1, CLASS, COW]) }}. Both rows of the class token:
# {{ of_class_token(scaled) }}
# Only two axes of the keys change places: which are they, if batch and heads stay in front?


# %%
def compute_scaled_scores(
    queries: Float[Tensor, "B heads N head_dim"], keys: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N N"]:
    """Compare every query with every key of the same head, and scale.

    queries: (B, heads, N, head_dim). keys: (B, heads, N, head_dim).
    Returns scaled_scores: (B, heads, N, N); entry (b, h, i, j) is query i times key j,
    divided by the square root of head_dim.
    """
    ### BEGIN SOLUTION
    attention_scores = queries @ keys.transpose(-2, -1)
    return attention_scores / math.sqrt(keys.shape[-1])
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would happen if you divided by the root of the hidden dimension?</summary>
#
# The shares would come out flatter: in head 0, the cow would get {{ number(too_flat[0, CLASS, COW]) }} from the class token in place of {{ number(weights[0, CLASS, COW]) }}. No error would tell you.
#
# </details>

# %% [markdown]
# ## 5. Attention weights
#
# The softmax turns each row of scores into shares that sum to 1, as in steps 1 and 8 of `numpy_single_head`. What is new: PyTorch has a softmax, and it is stable, so use it. What you have to decide is along which dimension it runs.
#
# A ViT is an **encoder**: all patches are there at once, and every token sees every other. So this layer has no mask.
#
# {{ path }}
#
# **By hand.** The row of the class token in the second head, step by step:
#
# ```
# {{ table(softmax_rows, TOKENS) }}
# ```
#
# The third row sums to {{ number(powers_sum) }}, and each share is its part of that. Now both heads:
#
# ```
# {{ of_class_token(weights) }}
# ```
#
# The first head finds what stands out, sun and cow. The second looks to the lower right.
#
# <details>
# <summary><b>In general.</b> The formula, the shape, and where a mask is needed.</summary>
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# In every head, row $i$ says how token $i$ divides its attention among all tokens. The shape stays `(B, heads, N, N)`.
#
# A decoder, such as GPT, writes one token after the other, and no token may see a later one. Only there is a mask needed (steps 6 and 7 of `numpy_single_head`). Apart from that, the layer is the same.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Sun and cow have the same score in head 0. What does that say about their shares?</summary>
#
# They are equal, too: {{ number(weights[0, CLASS, SUN]) }} each.
#
# </details>

# %% [markdown] active="py"
# Each row of scores becomes shares that sum to 1 (numpy_single_head, step 8). PyTorch has a stable
# softmax: you decide along which dimension it runs. No mask: every token sees every other.
# {{ of_class_token(weights) }}


# %%
def compute_attention_weights(
    scaled_scores: Float[Tensor, "B heads N N"],
) -> Float[Tensor, "B heads N N"]:
    """Turn the scaled scores into attention weights.

    scaled_scores: (B, heads, N, N).
    Returns attention_weights: (B, heads, N, N), each row along the last axis sums to 1.
    """
    ### BEGIN SOLUTION
    return scaled_scores.softmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> What would happen if the softmax ran down the columns?</summary>
#
# The shares that a token gets would sum to 1, not those that it gives. In head 0, the row of the class token would sum to {{ number(down_the_columns[0, CLASS].sum()) }}.
#
# </details>

# %% [markdown]
# ## 6. Weighted sum of the values
#
# Each token adds up the values of all tokens, each times its share, as in step 9 of `numpy_single_head`. What is new is the axis of the heads: each head does so with its own shares and its own slice of the values.
#
# {{ path }}
#
# **By hand.** In the first head, these are the values and the shares of the class token:
#
# ```
# {{ values_and_shares(0) }}
# ```
#
# For the second number: {{ dot(weights[0, CLASS], values[0, :, 1]) }}. In the first head the class token gathers {{ vector(gathered[0, CLASS]) }}: what stands out is on the right. In the second it gathers {{ vector(gathered[1, CLASS]) }}: at the lower right, something stands out.
#
# <details>
# <summary><b>In general.</b> The sum, and its shape.</summary>
#
# $$\text{output}_i = \sum_j \text{weights}_{ij}\, v_j$$
#
# Weights `(B, heads, N, N)` and values `(B, heads, N, head_dim)` give one narrow vector per token and head, `(B, heads, N, head_dim)`. What the heads have gathered is not mixed yet.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Can a head look at one thing and pass on another?</summary>
#
# Yes. Its values have weights of their own. Here head 0 looks at what a token is, but its values say where it is.
#
# </details>

# %% [markdown] active="py"
# In each head, values times shares, added up (numpy_single_head, step 9). The class token, head 0:
# {{ values_and_shares(0) }}
# The second number is {{ dot(weights[0, CLASS], values[0, :, 1]) }}.
# All three: {{ vector(gathered[0, CLASS]) }}. What stands out, sun and cow, is on the right.


# %%
def apply_attention(
    attention_weights: Float[Tensor, "B heads N N"], values: Float[Tensor, "B heads N head_dim"]
) -> Float[Tensor, "B heads N head_dim"]:
    """Gather the values by the attention weights.

    attention_weights: (B, heads, N, N). values: (B, heads, N, head_dim).
    Returns attention_output: (B, heads, N, head_dim).
    """
    ### BEGIN SOLUTION
    return attention_weights @ values
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> The patches change their order, each with its own numbers. What does the class token gather?</summary>
#
# The same as before. A sum does not depend on the order of its terms. A patch's place counts only because positions were added to its numbers.
#
# </details>

# %% [markdown]
# ## 7. Merging the heads
#
# Each token now has a piece from every head. What follows needs one vector per token again. So this step is splitting the heads, backwards.
#
# {{ path }}
#
# **By hand.** The class token has gathered {{ vector(gathered[0, CLASS]) }} and {{ vector(gathered[1, CLASS]) }}. Merged, that is {{ vector(merged[CLASS]) }}. In memory, the two pieces begin {{ number(to_next_head) }} numbers apart: all tokens of the first head come before the second head. They have to come together.
#
# **What it has to do.** It makes two moves:
#
# ```
#   (B, heads, N, head_dim)
# → (B, N, heads, head_dim)
# → (B, N, D)
# ```
#
# After the first move, the numbers in memory no longer follow the order of the axes, and a `view` refuses. **`contiguous()`** makes a copy in which they do, and a view of the copy works. **`reshape`**, which copies where it has to, is right here too.
#
# <details>
# <summary><b>In general.</b> What lies where in memory.</summary>
#
# A tensor is a row of numbers in memory, with a rule for finding each entry in that row.
#
# - **`permute`** moves no number; it only changes the rule. Neighbors along the last two axes may then lie far apart. Such a tensor is not **contiguous**.
# - **`view`** moves no number either. It joins two axes only where the numbers lie in the order of the axes. Otherwise it raises a `RuntimeError`.
# - **`contiguous()`** makes a copy in which the numbers lie in that order. If they already do, it returns the tensor itself.
# - **`reshape`** is a view where that is possible. Where it is not, it copies, without a word.
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> You leave out the first move, and a reshape runs. What does the class token get?</summary>
#
# It gets {{ vector(merged_across[CLASS]) }}: what the class token and “sky” have gathered, both in head 0. The shape is right, and the tokens are mixed.
#
# </details>

# %% [markdown] active="py"
# Splitting the heads, backwards. The class token has gathered {{ vector(gathered[0, CLASS]) }} and
# {{ vector(gathered[1, CLASS]) }}: side by side, {{ vector(merged[CLASS]) }}.
# In memory, the two pieces begin {{ number(to_next_head) }} numbers apart. So two axes change places, and then a view
# refuses: it needs the numbers copied into their new order.


# %%
def merge_heads(
    attention_output: Float[Tensor, "B heads N head_dim"],
) -> Float[Tensor, "B N D"]:
    """Put what the heads have gathered side by side.

    attention_output: (B, heads, N, head_dim).
    Returns merged: (B, N, D), with D = heads * head_dim, the numbers of head 0 first.
    """
    ### BEGIN SOLUTION
    token_by_token = attention_output.permute(0, 2, 1, 3).contiguous()
    B, N, heads, head_dim = token_by_token.shape
    return token_by_token.view(B, N, heads * head_dim)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Splitting needed no copy. Why does merging need one?</summary>
#
# Splitting began with a view of numbers in order. Here the pieces of a token lie apart in memory, and a vector of `D` numbers has them side by side. No rule can replace that; somebody has to move them.
#
# </details>

# %% [markdown]
# ## 8. Output projection
#
# In the merged vectors, the heads stand side by side, and none knows what another has found. One last layer, `out_linear`, mixes them. In step 10 of `numpy_single_head`, a matrix did that for the numbers of one head.
#
# {{ path }}
#
# **By hand.** The class token has gathered {{ vector(merged[CLASS]) }}. The third row of the weights, {{ vector(out_weight[2]) }}, takes from both heads: {{ dot(merged[CLASS], out_weight[2]) }}. The result is {{ vector(result[CLASS]) }}.
#
# The block then adds it to the class token, {{ vector(x[CLASS]) }}. In the residual stream it goes on as {{ vector(x[CLASS] + result[CLASS]) }}.
#
# <details>
# <summary><b>In general.</b> The product, where the layer stands, and real sizes.</summary>
#
# $$\text{result} = \text{merged}\; W_O^\top + b_O$$
#
# Every number that comes out can depend on all heads. The shape stays `(B, N, D)`.
#
# A linear layer turns the pixels of each patch into a token. The class token, which is learned, comes in front. Positions are added, and then follows a stack of blocks. In each block, attention lets the tokens exchange, and then a small network (MLP) works on each token alone. A norm before each part brings the numbers of each token to the same spread:
#
# ```
# patches ── linear layer ─┐
#                          ├─ + positions ── block ── block ── …
# class token ─────────────┘
#
# one block:   ──┬────────────────────(+)──┬──────────────(+)── next block
#                └─ norm ── attention ─┘   └─ norm ── MLP ─┘
# ```
#
# Each part **adds** its result to what came in. The line that runs through is called the **residual stream**. You can only add tensors of the same shape, so the layer's output has the shape of its input. After the last block, one more layer reads the class token alone, and says what the image shows.
#
# | name | axis | by hand | in most examples | ViT-B/16 | ViT-L/16 | GPT-2 small |
# |---|---|---|---|---|---|---|
# | `B` | batch: how many images at once | 1 | 3 | any | any | any |
# | `N` | tokens: how many in each image, the patches and the class token | 5 | 5 | 197 | 197 | up to 1024 |
# | `D` | hidden dimension: how many numbers describe one token | 6 | 8 | 768 | 1024 | 768 |
# | `heads` | heads: how many there are | 2 | 2 | 12 | 16 | 12 |
# | `head_dim` | head size: how many numbers a query, key or value of one head has | 3 | 4 | 64 | 64 | 64 |
#
# ViT-B/16 cuts an image of 224 × 224 pixels into 14 × 14 patches of 16 × 16 pixels. With the class token, that makes 197 tokens. It has 12 blocks, and ViT-L/16 has 24. The sizes stand in “An Image Is Worth 16x16 Words” (2020) and in the code of GPT-2 (2019).
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
# One last layer mixes what the heads have found. The third row of its weights takes from both:
# {{ dot(merged[CLASS], out_weight[2]) }}
# The block adds the result, {{ vector(result[CLASS]) }}, to the class token.


# %%
def project_output(merged: Float[Tensor, "B N D"], out_linear: nn.Linear) -> Float[Tensor, "B N D"]:
    """Mix what the heads have gathered.

    merged: (B, N, D), the heads side by side. out_linear: the linear layer from D to D.
    Returns the layer's output: (B, N, D).
    """
    ### BEGIN SOLUTION
    return out_linear(merged)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> Why does the result have to have the shape of the input?</summary>
#
# It is added to `x` in the residual stream, number by number. It also lets you stack as many blocks as you like.
#
# </details>

# %% [markdown]
# ## 9. The whole layer
#
# The class joins the steps in `forward`. It keeps the four layers as attributes `q_linear`, `k_linear`, `v_linear` and `out_linear`, so that PyTorch finds their parameters. The checks put their own weights into the layers, by these names. The class also keeps two whole numbers: `num_heads`, how many heads there are, and `head_dim`, the size of each.
#
# {{ path }}
#
# **By hand.** The class token goes in as {{ vector(x[CLASS]) }} and comes out as {{ vector(exact[CLASS]) }}, if nothing is rounded on the way.
#
# **What it has to do.** The heads share the hidden dimension evenly. If the number of heads does not divide it, the caller has made a mistake. Say so at once, with an `assert` or a `ValueError` in `__init__`. That is better than an error about shapes deep inside `forward`.
#
# The checks also send a gradient back through your layer. Every parameter has to get its part of it, so do not detach anything on the way or change it in place. A check also casts the layer and its tokens to `float64`, `bfloat16` and `float16`. Then all that it makes has that type, too.
#
# <details>
# <summary><b>In general.</b> The whole way, with its shapes.</summary>
#
# $(B, N, D)$ goes in and comes out.
#
# ```
# {{ diagram }}
# ```
#
# </details>
#
# <details>
# <summary><b>Before you code.</b> Which numbers of heads can share a hidden dimension of 6?</summary>
#
# 1, 2, 3 and 6. The heads then have 6, 3, 2 or 1 numbers each. With 4 heads, 2 numbers would be left over.
#
# </details>

# %% [markdown] active="py"
# The class keeps the four layers under the names below, and calls your steps in order. The class
# token goes in as {{ vector(x[CLASS]) }}; out comes {{ vector(exact[CLASS]) }}.
# If the number of heads does not divide D, say so in __init__, before anything else goes wrong.
# The checks send a gradient back: detach nothing on the way, and change nothing in place.


# %%
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
        ### BEGIN SOLUTION
        assert hidden_dim % num_heads == 0, f"{num_heads} heads cannot share {hidden_dim} evenly"
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_linear, self.k_linear, self.v_linear, self.out_linear = create_projections(
            hidden_dim
        )
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        """Let every token gather from the others, in every head.

        x: (B, N, D). Returns the new token vectors: (B, N, D).
        """
        ### BEGIN SOLUTION
        queries, keys, values = project_qkv(x, self.q_linear, self.k_linear, self.v_linear)
        queries = split_heads(queries, self.num_heads)
        keys = split_heads(keys, self.num_heads)
        values = split_heads(values, self.num_heads)
        scaled_scores = compute_scaled_scores(queries, keys)
        attention_weights = compute_attention_weights(scaled_scores)
        attention_output = apply_attention(attention_weights, values)
        merged = merge_heads(attention_output)
        return project_output(merged, self.out_linear)
        ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> The patches become half as wide and half as high. About how many times as many scores are there?</summary>
#
# About 16 times as many. There are four times as many patches, and every token meets every other.
#
# </details>
#
# <details>
# <summary><b>Write a first test of your own.</b> Are the shapes and the values what you expect?</summary>
#
# In the notebook, add a cell below this one (Esc, then B). Make a layer with 12 numbers per token and 3 heads, and give it 2 random images of 5 tokens. Does the output have the shape of the input, `(2, 5, 12)`?
#
# Then call the steps one by one, and print the shape after each. Are the weights `(2, 3, 5, 5)`? Are they between 0 and 1, and does each row sum to 1?
#
# </details>

# %% [markdown] active="ipynb"
# ## Your layer looks at a picture
#
# There are no more steps and no more points: the cells from here on show what you have built. Your layer gets the picture of four patches, with the numbers and the weights that you followed by hand. They stand in the first cell, which is folded. What comes out for the class token, and where does each token look in each head?
#
# {{ picture(patches(), PATCHES_IN_WORDS) }}

# %% active="ipynb"
# def the_picture():
#     layer = MultiHeadSelfAttention(hidden_dim=6, num_heads=2)
#     x = torch.tensor({{ rows(x, 4) }}).float()
#     with torch.no_grad():
#         for parameter in layer.parameters():
#             parameter.zero_()
#         layer.q_linear.weight.copy_(torch.tensor({{ rows(q_weight) }}))
#         layer.q_linear.bias.copy_(torch.tensor([{{ listed(QUERY_BIAS) }}]))
#         layer.k_linear.weight.copy_(torch.tensor({{ rows(k_weight) }}))
#         layer.v_linear.weight.copy_(torch.tensor({{ rows(v_weight) }}))
#         layer.out_linear.weight.copy_(torch.tensor({{ rows(out_weight) }}))
#         output = layer(x[None])[0]
#     return {
#         "tokens": ["[class]", "sky", "sun", "grass", "cow"],
#         "token": "[class]",
#         "output": output,
#         "by_hand": {{ vector(result[CLASS]) }},
#         "exact": {{ vector(exact[CLASS], 4) }},
#     }

# %% active="ipynb"
# from autograder import show_example
#
# show_example(the_picture, seen_in="compute_attention_weights")

# %% [markdown] active="ipynb"
# Read the first row: in head 0, the class token finds what stands out, sun and cow. In head 1, it looks to the lower right. Now the last two rows: in head 1, grass and cow look at each other, because they lie side by side.
#
# ## Your layer beside the library's
#
# PyTorch has this layer built in: `nn.MultiheadAttention`. It keeps the weights for queries, keys and values in one tensor, `in_proj_weight`, one below the other. It calls the output layer `out_proj`. With the weights of your layer, it should give the same numbers, up to rounding. Here $(B, N, D) = (2, 5, 12)$, with 3 heads.

# %% active="ipynb"
# from autograder import compare_with_library
#
#
# def yours_and_the_librarys():
#     layer = MultiHeadSelfAttention(hidden_dim=12, num_heads=3)
#     three_layers = [layer.q_linear, layer.k_linear, layer.v_linear]
#     library = nn.MultiheadAttention(12, 3, batch_first=True)
#     with torch.no_grad():
#         library.in_proj_weight.copy_(torch.cat([each.weight for each in three_layers]))
#         library.in_proj_bias.copy_(torch.cat([each.bias for each in three_layers]))
#         library.out_proj.weight.copy_(layer.out_linear.weight)
#         library.out_proj.bias.copy_(layer.out_linear.bias)
#     x = torch.randn(2, 5, 12)
#     return layer(x), library(x, x, x, need_weights=False)[0]
#
#
# compare_with_library(yours_and_the_librarys, "nn.MultiheadAttention")

# %% [markdown] active="ipynb"
# ## Your layer learns to read
#
# So far, the weights were chosen by hand. Now a small vision transformer finds its own, in about ten seconds. It has two blocks, and the attention in both is your layer, with three heads.
#
# It reads pictures of digits, $12 \times 12$ pixels in 16 patches, with a class token in front: $(B, N, D) = (50, 17, 42)$. A program draws the pictures, turned, stretched, moved and noisy. Watch the loss, and where the class token looks. Of all heads, you see the one that has made up its mind the most, so it can change on the way.

# %% active="ipynb"
# from autograder import train
#
# train("digits", lambda hidden_dim: MultiHeadSelfAttention(hidden_dim, num_heads=3))

# %% [markdown] active="ipynb"
# Be careful with such a number. That many digits come out right does not say that a layer is right. The list below says how many mistakes cannot be seen from it.

# %% [markdown] active="ipynb"
# ## What a mistake would have done
#
# These trainings were run beforehand with each known mistake in place of the right step. Here stand those that you met or, if you met none, three others.

# %% active="ipynb"
# from autograder import show_costs
#
# show_costs()
