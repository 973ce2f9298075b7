"""Known wrong implementations of the steps; each docstring is what the student reads.

The first paragraph says what the code does and how that differs from what is asked, the
second where to look. None of them gives the line to type.
"""

import math

import torch
from torch import nn

from autograder.checks import misconception, solution_beside

solution = solution_beside(__file__)


@misconception("create_projections")
def one_fused_layer(hidden_dim):
    """You make one wide layer for queries, keys and values together, and one for the output.

    A fused layer computes the same, but here each of the three has a layer of its own, under its
    own name. How many layers are due in all?
    """
    return nn.Linear(hidden_dim, hidden_dim * 3), nn.Linear(hidden_dim, hidden_dim)


@misconception("create_projections")
def output_layer_forgotten(hidden_dim):
    """You return three layers: the one for the output is missing.

    Queries, keys and values have theirs. Which layer mixes the heads at the end?
    """
    return solution.create_projections(hidden_dim)[:3]


@misconception("create_projections")
def every_layer_three_times_as_wide(hidden_dim):
    """Your layers for queries, keys and values are three times as wide as the token.

    That is the width of one layer that makes all three. How wide is a query?
    """
    wide = [nn.Linear(hidden_dim, hidden_dim * 3) for _ in range(3)]
    return *wide, nn.Linear(hidden_dim, hidden_dim)


@misconception("create_projections")
def layers_for_a_narrow_head(hidden_dim):
    """Your layers map to a quarter of hidden_dim, as a single narrow head has it.

    Here one layer makes the queries of all heads at once. How wide are all heads together?
    """
    narrow = [nn.Linear(hidden_dim, hidden_dim // 4) for _ in range(3)]
    return *narrow, nn.Linear(hidden_dim // 4, hidden_dim)


@misconception("create_projections")
def no_bias_at_all(hidden_dim):
    """Your layers have no bias.

    All four have one here. What do your layers get for their bias argument?
    """
    return tuple(nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(4))


@misconception("create_projections")
def bias_in_the_output_layer_only(hidden_dim):
    """Only your out_linear has a bias; the layers for queries, keys and values have none.

    Some models leave it out there, but here all four have one. What do the first three get for
    their bias argument?
    """
    bare = [nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(3)]
    return *bare, nn.Linear(hidden_dim, hidden_dim)


@misconception("create_projections")
def one_layer_four_times(hidden_dim):
    """You return one and the same layer four times.

    The sizes are right, but what one learns the others have too. How many layers does your
    function make?
    """
    layer = nn.Linear(hidden_dim, hidden_dim)
    return layer, layer, layer, layer


@misconception("project_qkv")
def order_of_key_query_value(x, q_linear, k_linear, v_linear):
    """Your queries are where the keys are due, and the other way round.

    The order is query, key, value. In which order do you return them?
    """
    return k_linear(x), q_linear(x), v_linear(x)


@misconception("project_qkv")
def order_of_value_key_query(x, q_linear, k_linear, v_linear):
    """Your three results come in the order value, key, query.

    The order is query, key, value. In which order do you return them?
    """
    return v_linear(x), k_linear(x), q_linear(x)


@misconception("project_qkv")
def keys_used_for_values(x, q_linear, k_linear, v_linear):
    """Your values are the keys once more.

    What a token offers for the match and what it passes on are two different projections. Which
    layer makes the third result?
    """
    return q_linear(x), k_linear(x), k_linear(x)


@misconception("project_qkv")
def queries_used_for_keys(x, q_linear, k_linear, v_linear):
    """Your keys are the queries once more.

    What a token is looking for and what it offers are two different projections. Which layer
    makes the second result?
    """
    return q_linear(x), q_linear(x), v_linear(x)


@misconception("project_qkv")
def one_layer_for_all_three(x, q_linear, k_linear, v_linear):
    """Your queries, keys and values are the same: all three come from q_linear.

    Each of them has a layer of its own. Which layers does your code call?
    """
    return q_linear(x), q_linear(x), q_linear(x)


@misconception("project_qkv")
def projections_one_after_the_other(x, q_linear, k_linear, v_linear):
    """Your keys are projected from the queries, and your values from the keys.

    All three layers look at the same tokens. What goes into the second layer, and what into the
    third?
    """
    queries = q_linear(x)
    keys = k_linear(queries)
    return queries, keys, v_linear(keys)


@misconception("project_qkv")
def projection_bias_forgotten(x, q_linear, k_linear, v_linear):
    """Your projections leave the biases of the layers out.

    A linear layer is a product and a bias. What does calling the layer do that a product with
    its weight does not?
    """
    return tuple(x @ layer.weight.T for layer in (q_linear, k_linear, v_linear))


@misconception("project_qkv")
def projection_weights_not_transposed(x, q_linear, k_linear, v_linear):
    """You multiply by the layers' weights as they are kept, and PyTorch keeps them transposed.

    They are square here, so the shapes fit either way. What does calling a layer spare you?
    """
    return tuple(x @ layer.weight + layer.bias for layer in (q_linear, k_linear, v_linear))


@misconception("project_qkv")
def tokens_not_projected(x, q_linear, k_linear, v_linear):
    """You return the token vectors themselves three times, without projecting them.

    A token is seen in three ways. Where do the three layers come in?
    """
    return x, x.clone(), x.clone()


@misconception("split_heads")
def heads_cut_by_a_view(projected, num_heads):
    """You take the view straight to (B, heads, N, head_dim).

    The shape is right, but a head gets whole tokens instead of its slice of every token: a view
    moves no axis. Which axis of a token's vector do the heads come out of?
    """
    B, N, D = projected.shape
    return projected.reshape(B, num_heads, N, D // num_heads)


@misconception("split_heads")
def heads_behind_the_tokens(projected, num_heads):
    """Your result is (B, N, heads, head_dim): the heads stand behind the tokens.

    A matrix product takes the last two axes, and those have to be N and head_dim. Which two
    axes still change places?
    """
    B, N, D = projected.shape
    return projected.view(B, N, num_heads, D // num_heads)


@misconception("split_heads")
def heads_interleaved(projected, num_heads):
    """You split the vectors as (head_dim, heads), so the heads take turns.

    The numbers of one head lie next to each other. Which of the two axes comes first, the heads
    or head_dim?
    """
    B, N, D = projected.shape
    return projected.view(B, N, D // num_heads, num_heads).permute(0, 3, 1, 2)


@misconception("split_heads")
def heads_and_head_size_exchanged(projected, num_heads):
    """Your heads have the size num_heads, and there are head_dim of them.

    num_heads says how many heads there are. Which axis of your view has that size, and which
    one moves to the front?
    """
    B, N, D = projected.shape
    return projected.view(B, N, D // num_heads, num_heads).permute(0, 2, 1, 3)


@misconception("split_heads")
def tokens_behind_the_head_size(projected, num_heads):
    """Your result is (B, heads, head_dim, N): every head is transposed.

    Only the keys are transposed, and that is part of the next step. Which numbers, and in which
    order, does your permute get?
    """
    return solution.split_heads(projected, num_heads).transpose(-2, -1)


@misconception("split_heads")
def heads_in_front_of_the_batch(projected, num_heads):
    """Your result is (heads, B, N, head_dim): the heads stand in front of the batch.

    The batch axis comes first. Where does the head axis belong?
    """
    return solution.split_heads(projected, num_heads).transpose(0, 1)


@misconception("split_heads")
def every_head_gets_the_whole_vector(projected, num_heads):
    """Every one of your heads gets the whole vector of a token.

    The heads share the vector among themselves. How many of the D numbers are left for each?
    """
    return projected.unsqueeze(1).repeat(1, num_heads, 1, 1)


@misconception("split_heads")
def tokens_shared_out(projected, num_heads):
    """You cut the token axis into heads, so each head sees some of the tokens only.

    Every head sees every token, and a slice of its vector. Which axis is the one to be cut?
    """
    return torch.stack(projected.chunk(num_heads, dim=1), dim=1)


@misconception("split_heads")
def twelve_heads_always(projected, num_heads):
    """Your code makes twelve heads, whatever num_heads says.

    One model has twelve heads, others have others. Where does your code use num_heads?
    """
    return solution.split_heads(projected, 12)


@misconception("compute_scaled_scores")
def keys_not_transposed(queries, keys):
    """You multiply the queries by the keys without swapping axes of the keys.

    The head_dim axis of a query has to meet the head_dim axis of a key. Where does it stand in
    the keys now?
    """
    return queries @ keys / math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def head_axis_transposed(queries, keys):
    """You swap the head axis of the keys with another one.

    The head axis has no part in the transpose, and `.T` turns round all four axes. Which two
    axes of the keys change places?
    """
    return queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def heads_compared_with_heads(queries, keys):
    """You compare the heads of one token with each other, and not the tokens of one head.

    Entry (i, j) is token i's query times token j's key, in each head by itself. Which axis has
    to stand in front of head_dim in the product?
    """
    scores = queries.transpose(1, 2) @ keys.permute(0, 2, 3, 1)
    return scores / math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def keys_times_queries(queries, keys):
    """Your scores are transposed: rows belong to keys and columns to queries.

    Entry (i, j) is query i times key j. Which of the two stands on the left?
    """
    return keys @ queries.transpose(-2, -1) / math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def only_the_keys_own_query(queries, keys):
    """You multiply each query by the key of its own token only: the result is (B, heads, N).

    Every query meets every key, and each pair gives a number. Which product of two matrices
    makes all pairs at once?
    """
    return (queries * keys).sum(dim=-1) / math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def scores_summed_over_the_heads(queries, keys):
    """Your scores are summed over the heads, as if all heads were one.

    Every head has scores of its own. Which axes does your sum run over?
    """
    scores = solution.compute_scaled_scores(queries, keys)
    return scores.sum(dim=1, keepdim=True).expand_as(scores)


@misconception("compute_scaled_scores")
def queries_times_queries(queries, keys):
    """You compare the queries with themselves: the keys are not used.

    Entry (i, j) is query i times key j. Which tensors stand in your product?
    """
    return queries @ queries.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1)


@misconception("compute_scaled_scores")
def scores_not_scaled(queries, keys):
    """Your scores are right, but they are not scaled.

    The spread of a dot product grows with the size of the head. By what do you divide to undo
    that?
    """
    return _scores(queries, keys)


@misconception("compute_scaled_scores")
def divided_by_the_head_size(queries, keys):
    """You divide by the head size itself, or by its square root twice; once is due.

    The variance of a dot product grows like head_dim. How does its standard deviation grow?
    """
    return _scores(queries, keys) / keys.shape[-1]


@misconception("compute_scaled_scores")
def multiplied_by_the_root(queries, keys):
    """You multiply by the square root of the head size, which widens the spread.

    Scaling is to make the scores smaller, and to divide by a power of -0.5 does the opposite.
    Which operation does it?
    """
    return _scores(queries, keys) * math.sqrt(keys.shape[-1])


@misconception("compute_scaled_scores")
def divided_by_the_root_of_the_hidden_dimension(queries, keys):
    """You divide by the square root of the hidden dimension, all heads together.

    The dot product runs over one head's numbers. How many are they?
    """
    return _scores(queries, keys) / math.sqrt(keys.shape[1] * keys.shape[-1])


@misconception("compute_scaled_scores")
def divided_by_the_root_of_the_number_of_tokens(queries, keys):
    """You divide by the square root of the number of tokens.

    Each score is a sum over the head size, not over the tokens. Which number says how many
    products are added up?
    """
    return _scores(queries, keys) / math.sqrt(keys.shape[-2])


@misconception("compute_scaled_scores")
def divided_by_the_root_of_the_number_of_heads(queries, keys):
    """You divide by the square root of the number of heads.

    Each score is a sum over the head size. Which axis of the keys has that size?
    """
    return _scores(queries, keys) / math.sqrt(keys.shape[1])


@misconception("compute_scaled_scores")
def divided_by_eight_always(queries, keys):
    """You divide by 8, which is right for one model, where head_dim is 64.

    Here the size of the head may be any. Which axis of the keys tells it?
    """
    return _scores(queries, keys) / 8


@misconception("compute_scaled_scores")
def scaled_in_place(queries, keys):
    """You scale the queries in place, so the caller's tensor changes too.

    The tensor belongs to the caller, and the backward pass may need it as it was. Which
    operator makes a new tensor?
    """
    queries /= math.sqrt(keys.shape[-1])
    return _scores(queries, keys)


@misconception("compute_attention_weights")
def softmax_over_the_queries(scaled_scores):
    """Your softmax runs down the columns: each column sums to 1, not each row.

    A row belongs to one query, and that query divides its attention among the keys. Along
    which dimension do the keys of one query lie?
    """
    return scaled_scores.softmax(dim=-2)


@misconception("compute_attention_weights")
def softmax_over_the_heads(scaled_scores):
    """Your softmax runs along the heads: the heads of one token compete with each other.

    Each head has weights of its own. Along which dimension do the keys of one query lie? Without
    a dimension given, PyTorch takes this one.
    """
    return scaled_scores.softmax(dim=1)


@misconception("compute_attention_weights")
def softmax_over_the_batch(scaled_scores):
    """Your softmax runs along the batch: the images of a batch compete with each other.

    Images have nothing to do with one another here. Along which dimension do the keys of
    one query lie?
    """
    return scaled_scores.softmax(dim=0)


@misconception("compute_attention_weights")
def softmax_over_whole_heads(scaled_scores):
    """Your softmax runs over all scores of a head at once: the whole square sums to 1.

    Each row belongs to one query and sums to 1 by itself. What does flattening do to the rows?
    """
    return scaled_scores.flatten(2).softmax(dim=-1).reshape(scaled_scores.shape)


@misconception("compute_attention_weights")
def one_softmax_for_all_heads(scaled_scores):
    """Your heads share one softmax: the weights of a token sum to 1 over all heads together.

    Each head divides its attention for itself, so its own weights sum to 1. Which axes does your
    softmax run over?
    """
    B, heads, N, _ = scaled_scores.shape
    flat = scaled_scores.permute(0, 2, 1, 3).reshape(B, N, heads * N)
    return flat.softmax(dim=-1).view(B, N, heads, N).permute(0, 2, 1, 3)


@misconception("compute_attention_weights")
def softmax_applied_twice(scaled_scores):
    """You apply the softmax twice: the weights are nearly equal.

    Weights put through a softmax again lose most of their differences. How often does softmax
    stand in your code?
    """
    return scaled_scores.softmax(dim=-1).softmax(dim=-1)


@misconception("compute_attention_weights")
def future_masked(scaled_scores):
    """You mask the future, and here every token sees all tokens.

    A causal mask is asked for by models that predict the next token; the patches of an image have
    no order in time. What is done to the scores before your softmax?
    """
    future = torch.ones_like(scaled_scores).triu(diagonal=1) == 1
    return scaled_scores.masked_fill(future, -torch.inf).softmax(dim=-1)


@misconception("compute_attention_weights")
def logarithm_of_the_softmax(scaled_scores):
    """You return the logarithm of the weights: they are negative and do not sum to 1.

    log_softmax belongs to a loss. Which function gives the shares themselves?
    """
    return scaled_scores.log_softmax(dim=-1)


@misconception("compute_attention_weights")
def scores_returned_as_weights(scaled_scores):
    """You return the scores, and weights are asked for.

    What makes numbers of any size into shares that sum to 1?
    """
    return scaled_scores.clone()


@misconception("apply_attention")
def weights_transposed_in_the_sum(attention_weights, values):
    """You transpose the attention weights: each token gives instead of gathering.

    Row i of the weights belongs to the token that gathers. Which axis of the weights meets the
    token axis of the values?
    """
    return attention_weights.transpose(-2, -1) @ values


@misconception("apply_attention")
def values_averaged(attention_weights, values):
    """You give every token the plain average of the values: the weights make no difference.

    Each token takes each value in its own share. Where do the weights come in?
    """
    return values.mean(dim=2, keepdim=True).expand_as(values)


@misconception("apply_attention")
def values_before_weights(attention_weights, values):
    """You multiply the values by the weights, in this order, and the axes do not meet.

    The sum runs over the tokens: the last axis of the weights and the token axis of the
    values. Which of the two stands on the left?
    """
    return values @ attention_weights


@misconception("apply_attention")
def head_axis_summed_away(attention_weights, values):
    """You add up the results of the heads, so the head axis is lost.

    Each head keeps its own result until they are merged. Over which axes does your sum run?
    """
    return (attention_weights @ values).sum(dim=1)


@misconception("apply_attention")
def weights_averaged_over_the_heads(attention_weights, values):
    """You average the attention weights over the heads before they are applied.

    Then every head attends to the same tokens, and there is no use in having several. Whose
    weights belong to the values of a head?
    """
    return attention_weights.mean(dim=1, keepdim=True) @ values


@misconception("apply_attention")
def values_of_the_first_head_for_all(attention_weights, values):
    """You apply the weights of every head to the values of the first head.

    Each head has values of its own. What happens to the head axis of the values on the way?
    """
    return attention_weights @ values[:, :1]


@misconception("apply_attention")
def weights_returned_as_output(attention_weights, values):
    """You return the attention weights, and the weighted sum of the values is asked for.

    The result has one vector of head_dim numbers per token and head. What do the weights have to
    be applied to?
    """
    return attention_weights.clone()


@misconception("merge_heads")
def view_after_the_permute(attention_output):
    """You take a view after the permute, and the numbers no longer lie in the order of the axes.

    A view copies nothing, so it needs numbers that lie side by side in memory. What makes a copy
    in the right order, and does it stand between the permute and the view?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.permute(0, 2, 1, 3).view(B, N, heads * head_dim)


@misconception("merge_heads")
def merged_without_the_permute(attention_output):
    """You take the view straight to (B, N, D), so a token holds numbers of other tokens.

    The shape is right, but a view moves no axis: the heads still stand in front of the tokens.
    Which two axes have to change places first?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.reshape(B, N, heads * head_dim)


@misconception("merge_heads")
def merged_heads_interleaved(attention_output):
    """You merge with head_dim in front of the heads, so the heads' numbers alternate.

    A token holds one head after the other. Which of the two axes comes first before they become
    one?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.permute(0, 2, 3, 1).reshape(B, N, heads * head_dim)


@misconception("merge_heads")
def tokens_swapped_with_the_head_size(attention_output):
    """You swap the tokens with the head size, and the heads with the tokens are due.

    When the last two axes become one, they have to be heads and head size. Which axes does your
    code swap?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.transpose(2, 3).reshape(B, N, heads * head_dim)


@misconception("merge_heads")
def heads_averaged(attention_output):
    """You average the heads, and they are to stand side by side.

    An average loses what sets the heads apart. How many numbers does a token have if every head
    keeps its own?
    """
    return attention_output.mean(dim=1)


@misconception("merge_heads")
def heads_summed(attention_output):
    """You add the heads up, and they are to stand side by side.

    A sum loses what sets the heads apart. How many numbers does a token have if every head keeps
    its own?
    """
    return attention_output.sum(dim=1)


@misconception("merge_heads")
def heads_not_joined(attention_output):
    """You move the heads behind the tokens and leave them as an axis of their own.

    The result has three axes, and the last one is D. Which two axes still become one?
    """
    return attention_output.permute(0, 2, 1, 3).contiguous()


@misconception("merge_heads")
def heads_lined_up_as_tokens(attention_output):
    """You line the heads up along the token axis, so there are heads times as many tokens.

    Each token gets one vector, with the numbers of all heads in it. Along which axis do the heads
    stand side by side?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.reshape(B, heads * N, head_dim)


@misconception("project_output")
def output_not_projected(merged, out_linear):
    """You return the merged heads without projecting them.

    They have the right shape, but the heads only stand side by side. Which layer mixes them?
    """
    return merged.clone()


@misconception("project_output")
def output_bias_forgotten(merged, out_linear):
    """Your projection leaves the bias of out_linear out.

    A linear layer is a product and a bias. What does calling the layer do that a product with
    its weight does not?
    """
    return merged @ out_linear.weight.T


@misconception("project_output")
def output_weight_not_transposed(merged, out_linear):
    """You multiply by the weight of out_linear as it is kept, and PyTorch keeps it transposed.

    It is square here, so the shapes fit either way. What does calling the layer spare you?
    """
    return merged @ out_linear.weight + out_linear.bias


@misconception("project_output")
def projected_twice(merged, out_linear):
    """You apply out_linear twice.

    Its output has the shape of its input, so nothing complains. How often does the layer stand
    in your code?
    """
    return out_linear(out_linear(merged))


@misconception("project_output")
def merged_added_to_the_output(merged, out_linear):
    """You add the input of out_linear to its output.

    Residual connections belong around the whole layer, and whoever uses it adds them. What does
    this step alone return?
    """
    return out_linear(merged) + merged


def _gathered(layer, x):
    """The weights (B, heads, N, N) and the values (B, heads, N, head_dim) of a right layer."""
    projected = solution.project_qkv(x, layer.q_linear, layer.k_linear, layer.v_linear)
    queries, keys, values = (solution.split_heads(each, layer.num_heads) for each in projected)
    return solution.compute_scaled_scores(queries, keys).softmax(dim=-1), values


@misconception("MultiHeadSelfAttention")
class scores_detached(solution.MultiHeadSelfAttention):
    """Your forward cuts the attention weights off from the gradient.

    The output is right, but queries and keys are never trained. Is there a detach, a .data or a
    no_grad on the way from q_linear and k_linear to the weights?
    """

    def forward(self, x):
        weights, values = _gathered(self, x)
        return self.out_linear(solution.merge_heads(weights.detach() @ values))


@misconception("MultiHeadSelfAttention")
class values_detached(solution.MultiHeadSelfAttention):
    """Your forward cuts the values off from the gradient: v_linear is never trained.

    The output is right, but one layer does not learn. Is there a detach, a .data or a no_grad on
    the way from v_linear to the weighted sum?
    """

    def forward(self, x):
        weights, values = _gathered(self, x)
        return self.out_linear(solution.merge_heads(weights @ values.detach()))


@misconception("MultiHeadSelfAttention")
class gathered_values_detached(solution.MultiHeadSelfAttention):
    """Your forward cuts off the gradient in front of out_linear: no other layer is trained.

    The output is right, but only the last layer learns. What happens to the gathered values
    before they reach out_linear?
    """

    def forward(self, x):
        weights, values = _gathered(self, x)
        return self.out_linear(solution.merge_heads(weights @ values).detach())


@misconception("MultiHeadSelfAttention")
class output_detached(solution.MultiHeadSelfAttention):
    """Your forward computes without recording gradients, so nothing can be trained.

    The output is right, but no gradient flows back from it. Is there a detach, a .data or a
    no_grad around your steps?
    """

    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


@misconception("MultiHeadSelfAttention")
class one_layer_under_three_names(solution.MultiHeadSelfAttention):
    """Your q_linear, k_linear and v_linear are one and the same layer.

    An assignment makes another name, not another layer. How many layers does your `__init__`
    make?
    """

    def __init__(self, hidden_dim, num_heads):
        super().__init__(hidden_dim, num_heads)
        self.q_linear = self.k_linear = self.v_linear


@misconception("MultiHeadSelfAttention")
class head_dim_kept_as_hidden_dim(solution.MultiHeadSelfAttention):
    """Your head_dim is the whole hidden dimension.

    It is the size of one head, and the heads share the hidden dimension evenly. What is left for
    each of them?
    """

    def __init__(self, hidden_dim, num_heads):
        super().__init__(hidden_dim, num_heads)
        self.head_dim = hidden_dim


@misconception("MultiHeadSelfAttention")
class head_dim_kept_as_a_fraction(solution.MultiHeadSelfAttention):
    """Your head_dim is a number with a fraction, even where the fraction is 0.

    A size is a whole number, and view takes nothing else. Which division of Python gives one?
    """

    def __init__(self, hidden_dim, num_heads):
        super().__init__(hidden_dim, num_heads)
        self.head_dim = hidden_dim / num_heads


@misconception("MultiHeadSelfAttention")
class one_head_only(solution.MultiHeadSelfAttention):
    """Your layer works with a single head of the full hidden dimension, whatever num_heads says.

    The shapes come out right all the same. Where does your forward use the number of heads?
    """

    def forward(self, x):
        self.num_heads = 1
        return super().forward(x)


@misconception("MultiHeadSelfAttention")
class batch_taken_for_the_tokens(solution.MultiHeadSelfAttention):
    """Your layer lets the images of the batch attend to each other, token by token.

    x is (B, N, D): the batch comes first. Which of the first two axes do you take for the tokens?
    """

    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


@misconception("MultiHeadSelfAttention")
class class_token_only(solution.MultiHeadSelfAttention):
    """You return the vector of the class token only.

    Picking it out is what the classifier at the end of the model does. How many tokens come out
    of this layer?
    """

    def forward(self, x):
        return super().forward(x)[:, 0]


@misconception("MultiHeadSelfAttention")
class input_added(solution.MultiHeadSelfAttention):
    """Your forward adds the input to its output.

    Residual connections belong around the whole layer, and whoever uses it adds them. What does
    the layer alone return?
    """

    def forward(self, x):
        return super().forward(x) + x


@misconception("MultiHeadSelfAttention")
class batch_of_two_assumed(solution.MultiHeadSelfAttention):
    """Your forward reshapes to a batch of two, whatever the size of the batch.

    With another batch the numbers of one image end up in another, or do not fit at all. Where
    do the sizes in your reshape come from?
    """

    def forward(self, x):
        return super().forward(x.reshape(2, -1, x.shape[-1]))


@misconception("MultiHeadSelfAttention")
class weights_lowered_in_evaluation(solution.MultiHeadSelfAttention):
    """Your forward multiplies the attention weights by a constant after eval().

    That belongs to a dropout that is not rescaled in training; this layer has no dropout, and is
    the same in both modes. Where does your forward look at self.training?
    """

    def forward(self, x):
        weights, values = _gathered(self, x)
        if not self.training:
            weights = weights * 0.9
        return self.out_linear(solution.merge_heads(weights @ values))


@misconception("MultiHeadSelfAttention")
class outputs_added_up_over_the_calls(solution.MultiHeadSelfAttention):
    """Your second call gives other numbers than the first, though its input is the same.

    The layer keeps the output of the last call and adds the new one to it. Which attribute does
    your forward write and read again?
    """

    def forward(self, x):
        self.output = getattr(self, "output", 0) + super().forward(x)
        return self.output


@misconception("MultiHeadSelfAttention")
class input_overwritten(solution.MultiHeadSelfAttention):
    """Your forward changes the token vectors that it is given.

    The tensor belongs to the caller, who may still need it. Which of your lines change a tensor
    in place?
    """

    def forward(self, x):
        output = super().forward(x)
        x.copy_(output.detach())
        return output


@misconception("MultiHeadSelfAttention")
class computed_in_single_precision(solution.MultiHeadSelfAttention):
    """Your forward turns its input to float32, and the layers may have another precision.

    A module follows the dtype of its parameters. Which line of yours names a dtype?
    """

    def forward(self, x):
        return super().forward(x.float())


@misconception("MultiHeadSelfAttention")
class input_returned(solution.MultiHeadSelfAttention):
    """Your forward returns its input.

    The output has the shape of the input, but its numbers are the gathered and projected
    values. Which result does your last line return?
    """

    def forward(self, x):
        return x.clone()
