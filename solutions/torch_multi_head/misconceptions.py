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
def fused_layer_not_three_times_the_input(hidden_size, bias=True):
    """Your Wqkv is as wide as the input, enough for the queries but not for keys and values.

    One layer makes all three at once. How wide does it have to be?
    """
    return (
        nn.Linear(hidden_size, hidden_size, bias=bias),
        nn.Linear(hidden_size, hidden_size, bias=bias),
    )


@misconception("create_projections")
def layers_of_a_quarter(hidden_size, bias=True):
    """Your layers are those of a single head of a quarter of the hidden size.

    Here several heads share the hidden size and leave nothing of it over. How wide are the
    queries of all heads together?
    """
    head_dim = hidden_size // 4
    return (
        nn.Linear(hidden_size, head_dim * 3, bias=bias),
        nn.Linear(head_dim, hidden_size, bias=bias),
    )


@misconception("create_projections")
def output_layer_from_the_fused_size(hidden_size, bias=True):
    """Your Wo expects three times the hidden size, and it gets vectors of the hidden size.

    Of queries, keys and values only the values come out of the weighted sum. How many numbers
    do those of all heads have together?
    """
    return (
        nn.Linear(hidden_size, hidden_size * 3, bias=bias),
        nn.Linear(hidden_size * 3, hidden_size, bias=bias),
    )


@misconception("create_projections")
def three_separate_layers(hidden_size, bias=True):
    """You make a layer each for queries, keys and values, and one fused layer is asked for.

    Three layers with the same input can be one. How wide is it, and which two layers does this
    step return?
    """
    return tuple(nn.Linear(hidden_size, hidden_size, bias=bias) for _ in range(4))


@misconception("create_projections")
def layers_the_wrong_way_round(hidden_size, bias=True):
    """Your two layers come in the order Wo, Wqkv.

    The order is Wqkv, Wo. In which order do you return them?
    """
    return tuple(reversed(solution.create_projections(hidden_size, bias)))


@misconception("create_projections")
def bias_switch_ignored(hidden_size, bias=True):
    """Your layers have a bias although bias=False was asked for.

    The argument is there to be passed on. Where does your code use it?
    """
    return solution.create_projections(hidden_size)


@misconception("create_projections")
def bias_off_by_default(hidden_size, bias=False):
    """Your layers have no bias when nothing is said about it, and then one is due.

    It is on unless bias=False is asked for. Which default does your argument have?
    """
    return solution.create_projections(hidden_size, bias)


@misconception("create_projections")
def no_bias_at_all(hidden_size, bias=True):
    """Your layers never have a bias.

    It is on unless bias=False is asked for. What do your layers get for their bias argument?
    """
    return solution.create_projections(hidden_size, False)


@misconception("create_projections")
def bias_forgotten_in_the_output_layer(hidden_size, bias=True):
    """Only your Wqkv follows the bias argument; Wo does not.

    Both layers have a bias, or none has. What does the second layer get for its bias argument?
    """
    wide, _ = solution.create_projections(hidden_size, bias)
    return wide, nn.Linear(hidden_size, hidden_size)


def _parts(projected, num_heads):
    """The fused result as (B, S, 3, heads, head_dim)."""
    return projected.reshape(*projected.shape[:2], 3, num_heads, -1)


@misconception("split_heads")
def three_behind_the_heads(projected, num_heads):
    """You split the fused result as (B, S, heads, 3, head_dim), so the parts get mixed up.

    All queries come first, then all keys, then all values. Which of the two axes comes first,
    the 3 or the heads?
    """
    parts = projected.reshape(*projected.shape[:2], num_heads, 3, -1)
    return parts.transpose(1, 2).unbind(dim=3)


@misconception("split_heads")
def three_behind_everything(projected, num_heads):
    """You put the 3 behind heads and head_dim, so each part takes every third number.

    The numbers of one query lie next to each other. In which order do the 3, the heads and
    head_dim stand in the fused result?
    """
    parts = projected.reshape(*projected.shape[:2], num_heads, -1, 3)
    return parts.transpose(1, 2).unbind(dim=-1)


@misconception("split_heads")
def three_in_front_of_everything(projected, num_heads):
    """You reshape the fused result with the 3 in front, which mixes tokens and sequences.

    A reshape keeps the order of the numbers in memory; it moves no axis. Which axis of the
    fused result is the one to be split?
    """
    B, S, _ = projected.shape
    return projected.reshape(3, B, S, num_heads, -1).transpose(2, 3).unbind(dim=0)


@misconception("split_heads")
def three_in_front_of_the_sequence(projected, num_heads):
    """You reshape the fused result with the 3 in front of S, which mixes the tokens of a sequence.

    A reshape keeps the order of the numbers in memory, and there all that belongs to one token
    lies together. Behind which axis does the 3 belong?
    """
    B, S, _ = projected.shape
    return projected.reshape(B, 3, S, num_heads, -1).transpose(2, 3).unbind(dim=1)


@misconception("split_heads")
def heads_cut_by_a_reshape(projected, num_heads):
    """You reshape queries, keys and values straight to (B, heads, S, head_dim).

    The shape is right, but a head gets whole tokens instead of its part of every token: a
    reshape moves no axis. Which axis of a token's vector do the heads come out of?
    """
    B, S, _ = projected.shape
    return tuple(part.reshape(B, num_heads, S, -1) for part in projected.chunk(3, dim=-1))


@misconception("split_heads")
def heads_and_three_cut_by_a_reshape(projected, num_heads):
    """You reshape the fused result straight to (B, heads, S, 3, head_dim) and mix the tokens.

    A reshape keeps the order of the numbers in memory; it moves no axis. What makes two axes
    change places?
    """
    B, S, _ = projected.shape
    return projected.reshape(B, num_heads, S, 3, -1).unbind(dim=3)


@misconception("split_heads")
def heads_interleaved(projected, num_heads):
    """You split the vectors as (head_dim, heads), so the heads take turns.

    The numbers of one head lie next to each other. Which of the two axes comes first, the heads
    or head_dim?
    """
    parts = projected.reshape(*projected.shape[:2], 3, -1, num_heads)
    return parts.permute(2, 0, 4, 1, 3).unbind(dim=0)


@misconception("split_heads")
def heads_and_head_size_exchanged(projected, num_heads):
    """Your heads have the size num_heads, and there are head_dim of them.

    num_heads says how many heads there are. Which axis of your reshape has that size, and which
    one moves to the front?
    """
    parts = projected.reshape(*projected.shape[:2], 3, -1, num_heads)
    return parts.transpose(1, 3).unbind(dim=2)


@misconception("split_heads")
def heads_behind_the_tokens(projected, num_heads):
    """Your results are (B, S, heads, head_dim): the heads stand behind the tokens.

    A matrix product takes the last two axes, and those have to be S and head_dim. Which two
    axes still change places?
    """
    return _parts(projected, num_heads).unbind(dim=2)


@misconception("split_heads")
def heads_in_front_of_the_batch(projected, num_heads):
    """Your results are (heads, B, S, head_dim): the heads stand in front of the batch.

    The batch axis comes first. Where does the head axis belong?
    """
    return _parts(projected, num_heads).permute(2, 3, 0, 1, 4).unbind(dim=0)


@misconception("split_heads")
def unbound_along_another_axis(projected, num_heads):
    """You take apart an axis that is not the one of size 3, so there are not three parts.

    In (B, S, 3, heads, head_dim) queries, keys and values lie along the 3. On which axis does it
    stand after your transpose?
    """
    queries, keys, values = _parts(projected, num_heads).transpose(1, 3).unbind(dim=1)
    return queries, keys, values


@misconception("split_heads")
def two_heads_always(projected, num_heads):
    """Your code makes two heads, whatever num_heads says.

    The example has two heads, other layers have others. Where does your code use num_heads?
    """
    return solution.split_heads(projected, 2)


@misconception("split_heads")
def head_size_of_four_always(projected, num_heads):
    """Your heads have 4 numbers each, as in the example, whatever the sizes are.

    The heads share the hidden size. Which two sizes does head_dim follow from?
    """
    B, S, _ = projected.shape
    return projected.reshape(B, S, 3, num_heads, 4).transpose(1, 3).unbind(dim=2)


@misconception("split_heads")
def order_of_key_query_value(projected, num_heads):
    """Your queries are where the keys are due, and the other way round.

    The fused layer gives query, key, value in this order. In which order do you unpack them?
    """
    queries, keys, values = solution.split_heads(projected, num_heads)
    return keys, queries, values


@misconception("split_heads")
def order_of_value_key_query(projected, num_heads):
    """Your three results come in the order value, key, query.

    The fused layer gives query, key, value in this order. In which order do you unpack them?
    """
    return tuple(reversed(solution.split_heads(projected, num_heads)))


@misconception("split_heads")
def keys_used_for_values(projected, num_heads):
    """Your values are the keys once more.

    What a token offers for the match and what it passes on are two different parts. Which part
    is the third result?
    """
    queries, keys, _ = solution.split_heads(projected, num_heads)
    return queries, keys, keys


@misconception("compute_attention_scores")
def keys_not_transposed(queries, keys):
    """You multiply the queries by the keys without swapping axes of the keys.

    The head axis of a query has to meet the head axis of a key. Where does it stand in the
    keys now?
    """
    return queries @ keys


@misconception("compute_attention_scores")
def head_axis_transposed(queries, keys):
    """You swap the head axis and the sequence axis of the keys.

    Each head has to stay with itself. Which two axes of the keys change places?
    """
    return queries @ keys.transpose(1, 2)


@misconception("compute_attention_scores")
def head_axis_transposed_to_the_end(queries, keys):
    """You swap the head axis of the keys with the last one.

    Axis 1 is the head axis here, and it has no part in the transpose. Which two axes of the keys
    change places, counted from the end?
    """
    return queries @ keys.transpose(1, 3)


@misconception("compute_attention_scores")
def batch_axis_transposed(queries, keys):
    """You swap the batch axis of the keys with another one.

    The batch axis has no part in the transpose. Which two axes of the keys change places?
    """
    return queries @ keys.transpose(0, 2)


@misconception("compute_attention_scores")
def all_axes_reversed(queries, keys):
    """You reverse all four axes of the keys, batch and heads included.

    The batch axis and the head axis have no part in the transpose. Which two axes of the keys
    change places?
    """
    return queries @ keys.permute(3, 2, 1, 0)


@misconception("compute_attention_scores")
def heads_compared_with_heads(queries, keys):
    """You compare the heads of one token with each other, and not the tokens of one head.

    Entry (i, j) is token i's query times token j's key, in each head by itself. Which axis has
    to stand in front of head_dim in the product?
    """
    return queries.transpose(1, 2) @ keys.transpose(1, 2).transpose(-2, -1)


@misconception("compute_attention_scores")
def scores_summed_over_the_heads(queries, keys):
    """Your scores are summed over the heads, as if all heads were one.

    Every head has scores of its own. Which axes does your sum run over?
    """
    scores = queries @ keys.transpose(-2, -1)
    return scores.sum(dim=1, keepdim=True).expand_as(scores)


@misconception("compute_attention_scores")
def head_axis_summed_away(queries, keys):
    """Your scores have no head axis left: the sum runs over the heads as well.

    Every head has scores of its own. Which axes stay in the result?
    """
    return torch.einsum("bhid,bhjd->bij", queries, keys)


@misconception("compute_attention_scores")
def keys_times_queries(queries, keys):
    """Your scores are transposed: rows belong to keys and columns to queries.

    Entry (i, j) is query i times key j. Which of the two stands on the left?
    """
    return keys @ queries.transpose(-2, -1)


@misconception("compute_attention_scores")
def only_the_keys_own_query(queries, keys):
    """You multiply each query by the key of its own token only: the result is (B, heads, S).

    Every query meets every key, and each pair gives a number. Which product of two matrices
    makes all pairs at once?
    """
    return (queries * keys).sum(dim=-1)


@misconception("compute_attention_scores")
def scores_scaled_already(queries, keys):
    """Your scores are divided by the square root of the head size already.

    That is the next step of its own, and done twice it would be too much. What does this step
    return?
    """
    return queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


@misconception("compute_attention_scores")
def queries_times_queries(queries, keys):
    """You compare the queries with themselves: the keys are not used.

    Entry (i, j) is query i times key j. Which tensors stand in your product?
    """
    return queries @ queries.transpose(-2, -1)


@misconception("scale_scores")
def scores_not_scaled(attention_scores, head_dim):
    """Your scores come back as they were: they are not scaled.

    The spread of a dot product grows with the size of the head. By what do you divide to undo
    that?
    """
    return attention_scores.clone()


@misconception("scale_scores")
def divided_by_the_head_size(attention_scores, head_dim):
    """You divide by the head size itself, and its square root is due.

    The variance of a dot product grows like head_dim. How does its standard deviation grow?
    """
    return attention_scores / head_dim


@misconception("scale_scores")
def multiplied_by_the_root(attention_scores, head_dim):
    """You multiply by the square root of the head size, which widens the spread.

    Scaling is to make the scores smaller. Which operation does that?
    """
    return attention_scores * math.sqrt(head_dim)


@misconception("scale_scores")
def divided_by_the_root_of_the_hidden_size(attention_scores, head_dim):
    """You divide by the square root of the hidden size, which is that of all heads together.

    The dot product runs over one head's numbers. How many are they?
    """
    return attention_scores / math.sqrt(attention_scores.shape[1] * head_dim)


@misconception("scale_scores")
def divided_by_the_root_of_the_number_of_heads(attention_scores, head_dim):
    """You divide by the square root of the number of heads.

    Each score is a sum over the numbers of one head. How many products are added up?
    """
    return attention_scores / math.sqrt(attention_scores.shape[1])


@misconception("scale_scores")
def divided_by_the_root_of_the_sequence_length(attention_scores, head_dim):
    """You divide by the square root of the sequence length.

    Each score is a sum over the head axis, not over the sequence. Which number says how many
    products are added up?
    """
    return attention_scores / math.sqrt(attention_scores.shape[-1])


@misconception("scale_scores")
def divided_by_two_always(attention_scores, head_dim):
    """You divide by 2, which is right for the example, where head_dim is 4.

    Other layers have heads of another size. Where does your code use head_dim?
    """
    return attention_scores / 2


@misconception("scale_scores")
def scaled_in_place(attention_scores, head_dim):
    """You divide the scores in place, so the caller's tensor changes too.

    The tensor belongs to the caller, and the backward pass may need it as it was. Which
    operator makes a new tensor?
    """
    attention_scores /= math.sqrt(head_dim)
    return attention_scores


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
    """Your softmax runs along the batch: the sequences of a batch compete with each other.

    Sequences have nothing to do with one another here. Along which dimension do the keys of
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
def softmax_applied_twice(scaled_scores):
    """You apply the softmax twice: the weights are nearly equal.

    Weights put through a softmax again lose most of their differences. How often does softmax
    stand in your code?
    """
    return scaled_scores.softmax(dim=-1).softmax(dim=-1)


@misconception("compute_attention_weights")
def future_masked(scaled_scores):
    """You mask the future, and here every token sees all tokens.

    A causal mask is asked for by models that predict the next token; this layer has none. What
    is done to the scores before your softmax?
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
def weights_averaged_over_the_heads(attention_weights, values):
    """You average the attention weights over the heads before they are applied.

    Then every head attends to the same tokens, and there is no use in having several. Whose
    weights belong to the values of a head?
    """
    return attention_weights.mean(dim=1, keepdim=True) @ values


@misconception("apply_attention")
def weights_transposed_in_the_sum(attention_weights, values):
    """You transpose the attention weights: each token gives instead of gathering.

    Row i of the weights belongs to the token that gathers. Which axis of the weights meets the
    sequence axis of the values?
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

    The sum runs over the tokens: the last axis of the weights and the sequence axis of the
    values. Which of the two stands on the left?
    """
    return values @ attention_weights


@misconception("apply_attention")
def weights_returned_as_output(attention_weights, values):
    """You return the attention weights, and the weighted sum of the values is asked for.

    The result has one vector of head_dim numbers per token. What do the weights have to be
    applied to?
    """
    return attention_weights.clone()


@misconception("merge_heads")
def merged_without_the_transpose(attention_output):
    """You reshape straight to (B, S, C), so a token holds numbers of other tokens.

    The shape is right, but a reshape moves no axis: the heads still stand in front of the
    tokens. Which two axes have to change places first?
    """
    B, heads, S, head_dim = attention_output.shape
    return attention_output.reshape(B, S, heads * head_dim)


@misconception("merge_heads")
def view_after_the_transpose(attention_output):
    """You take a view after the transpose, and the numbers no longer lie in the order of the axes.

    A view copies nothing, so it needs numbers that lie side by side in memory. What makes a copy
    in the right order?
    """
    B, heads, S, head_dim = attention_output.shape
    return attention_output.transpose(1, 2).view(B, S, heads * head_dim)


@misconception("merge_heads")
def merged_heads_interleaved(attention_output):
    """You merge with head_dim in front of the heads, so the heads' numbers alternate.

    A token holds one head after the other. Which of the two axes comes first before they become
    one?
    """
    return attention_output.permute(0, 2, 3, 1).flatten(2)


@misconception("merge_heads")
def transposed_after_the_reshape(attention_output):
    """You join heads and tokens first and swap axes afterwards: the tokens are mixed up.

    heads and head_dim become one axis, and they do not lie next to each other yet. In which
    order do the swap and the reshape have to come?
    """
    B, heads, S, head_dim = attention_output.shape
    return attention_output.reshape(B, heads * head_dim, S).transpose(1, 2)


@misconception("merge_heads")
def heads_not_joined(attention_output):
    """You move the heads behind the tokens and leave them as an axis of their own.

    The result has three axes, and the last one is C. Which two axes still become one?
    """
    return attention_output.transpose(1, 2)


@misconception("merge_heads")
def tokens_joined_instead_of_heads(attention_output):
    """You join the tokens of each head, so there is one long vector per head.

    Each token keeps a vector of its own. Which two axes become one?
    """
    return attention_output.flatten(2)


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
def batch_of_two_always(attention_output):
    """Your code takes a batch of two, as in the example, whatever comes in.

    Other batches have other sizes. Which shape does your code read the sizes from?
    """
    _, heads, _, head_dim = attention_output.shape
    return attention_output.transpose(1, 2).reshape(2, -1, heads * head_dim)


@misconception("project_output")
def output_not_projected(merged, Wo):
    """You return the merged heads without projecting them.

    They have the right shape, but the heads only stand side by side. Which layer mixes them?
    """
    return merged.clone()


@misconception("project_output")
def output_bias_forgotten(merged, Wo):
    """Your projection leaves the bias of Wo out.

    A linear layer is a product and a bias. What does calling the layer do that a product with
    its weight does not?
    """
    return merged @ Wo.weight.T


@misconception("project_output")
def weight_of_the_layer_not_transposed(merged, Wo):
    """You multiply by the weight of Wo as it is stored; it is square, so the sizes fit all the same.

    PyTorch stores the weight of a linear layer as (outputs, inputs). What does the layer do with
    it when it is called?
    """
    return merged @ Wo.weight + Wo.bias


@misconception("project_output")
def projected_twice(merged, Wo):
    """You apply Wo twice.

    Its output has the shape of its input, so nothing complains. How often does the layer stand
    in your code?
    """
    return Wo(Wo(merged))


@misconception("project_output")
def merged_added_to_the_output(merged, Wo):
    """You add the input of Wo to its output.

    Residual connections belong around the whole layer, and whoever uses it adds them. What does
    this step alone return?
    """
    return merged + Wo(merged)


def _values_and_weights(layer, x):
    queries, keys, values = solution.split_heads(layer.Wqkv(x), layer.num_heads)
    scores = solution.compute_attention_scores(queries, keys)
    return values, solution.scale_scores(scores, keys.shape[-1]).softmax(dim=-1)


def _attended(layer, x, divisor):
    queries, keys, values = solution.split_heads(layer.Wqkv(x), layer.num_heads)
    scores = solution.compute_attention_scores(queries, keys)
    return layer.Wo(solution.merge_heads((scores / divisor).softmax(dim=-1) @ values))


@misconception("MultiHeadAttention")
class one_head_only(solution.MultiHeadAttention):
    """Your layer works with a single head of the full hidden size, whatever num_heads says.

    The shapes come out right all the same. Where does your forward use the number of heads?
    """

    def forward(self, x):
        self.num_heads = 1
        return super().forward(x)


@misconception("MultiHeadAttention")
class bias_argument_ignored(solution.MultiHeadAttention):
    """Your layer has a bias although it was made with bias=False.

    The argument of `__init__` has to reach both linear layers. Where does yours end?
    """

    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads)


@misconception("MultiHeadAttention")
class scaled_by_the_root_of_the_hidden_size(solution.MultiHeadAttention):
    """Your forward divides by the square root of the hidden size, and that of the head is due.

    The dot product runs over the numbers of one query. How many are they?
    """

    def forward(self, x):
        return _attended(self, x, math.sqrt(x.shape[-1]))


@misconception("MultiHeadAttention")
class scaled_by_the_root_of_a_quarter(solution.MultiHeadAttention):
    """Your forward divides by the square root of a quarter of the hidden size, whatever num_heads is.

    A quarter is right for four heads only. Which two sizes does the size of a head follow from?
    """

    def forward(self, x):
        return _attended(self, x, math.sqrt(x.shape[-1] // 4))


@misconception("MultiHeadAttention")
class batch_of_two_assumed(solution.MultiHeadAttention):
    """Your forward reshapes to a batch of two, whatever the size of the batch.

    With another batch the numbers of one sequence end up in another, or do not fit at all. Where
    do the sizes in your reshape come from?
    """

    def forward(self, x):
        return super().forward(x.reshape(2, -1, x.shape[-1]))


@misconception("MultiHeadAttention")
class future_always_hidden(solution.MultiHeadAttention):
    """Your forward hides the future, and here every token sees all tokens.

    A mask belongs to the bonus step, and only when it is asked for. Where does a mask come into
    your forward?
    """

    def forward(self, x):
        return solution.CausalMultiHeadAttention.forward(self, x, causal=True)


@misconception("MultiHeadAttention")
class weights_of_the_first_head_for_all(solution.MultiHeadAttention):
    """Your forward applies the weights of the first head to the values of all heads.

    Each head has weights of its own. What happens to the head axis of the weights on the way?
    """

    def forward(self, x):
        values, weights = _values_and_weights(self, x)
        return self.Wo(solution.merge_heads(weights[:, :1] @ values))


@misconception("MultiHeadAttention")
class input_added_to_the_output(solution.MultiHeadAttention):
    """Your forward adds its input to the output.

    That is the residual connection of a Transformer block, which stands around the layer. Which
    step is the last one of attention itself?
    """

    def forward(self, x):
        return x + super().forward(x)


@misconception("MultiHeadAttention")
class weights_lowered_in_evaluation(solution.MultiHeadAttention):
    """Your forward multiplies the attention weights by a constant after eval().

    That belongs to a dropout that is not rescaled in training; this layer has no dropout, and is
    the same in both modes. Where does your forward look at self.training?
    """

    def forward(self, x):
        values, weights = _values_and_weights(self, x)
        if not self.training:
            weights = weights * 0.9
        return self.Wo(solution.merge_heads(weights @ values))


@misconception("MultiHeadAttention")
class scores_added_up_over_the_calls(solution.MultiHeadAttention):
    """Your second call gives other numbers than the first, though its input is the same.

    The layer keeps the scores of the last call and adds the new ones to them. Which attribute
    does your forward write and read again?
    """

    def forward(self, x):
        queries, keys, values = solution.split_heads(self.Wqkv(x), self.num_heads)
        scores = solution.compute_attention_scores(queries, keys)
        self.scores = getattr(self, "scores", 0) + solution.scale_scores(scores, keys.shape[-1])
        return self.Wo(solution.merge_heads(self.scores.softmax(dim=-1) @ values))


@misconception("MultiHeadAttention")
class scores_detached(solution.MultiHeadAttention):
    """Your forward cuts the attention weights off from the gradient.

    The output is right, but queries and keys are never trained. Is there a detach, a .data or a
    no_grad on the way from Wqkv to the weights?
    """

    def forward(self, x):
        values, weights = _values_and_weights(self, x)
        return self.Wo(solution.merge_heads(weights.detach() @ values))


@misconception("MultiHeadAttention")
class output_detached(solution.MultiHeadAttention):
    """Your forward computes without recording gradients, so nothing can be trained.

    The output is right, but no gradient flows back from it. Is there a detach, a .data or a
    no_grad around your steps?
    """

    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


@misconception("MultiHeadAttention")
class gathered_values_detached(solution.MultiHeadAttention):
    """Your forward cuts off the gradient in front of Wo: Wqkv is never trained.

    The output is right, but only the last layer learns. What happens to the gathered values
    before they reach Wo?
    """

    def forward(self, x):
        values, weights = _values_and_weights(self, x)
        return self.Wo(solution.merge_heads(weights @ values).detach())


@misconception("MultiHeadAttention")
class input_overwritten(solution.MultiHeadAttention):
    """Your forward changes the token vectors that it is given.

    The tensor belongs to the caller, who may still need it. Which of your lines change a tensor
    in place?
    """

    def forward(self, x):
        output = super().forward(x)
        x.copy_(output.detach())
        return output


@misconception("MultiHeadAttention")
class computed_in_single_precision(solution.MultiHeadAttention):
    """Your forward turns its input to float32, and the layers may have another precision.

    A module follows the dtype of its parameters. Which line of yours names a dtype?
    """

    def forward(self, x):
        return super().forward(x.float())


@misconception("MultiHeadAttention")
class input_returned(solution.MultiHeadAttention):
    """Your forward returns its input.

    The output has the shape of the input, but its numbers are the gathered and projected
    values. Which result does your last line return?
    """

    def forward(self, x):
        return x.clone()


def _masked(layer, x, masked):
    """The layer's output with the scaled scores, then the mask (S, S), put through `masked`."""
    queries, keys, values = solution.split_heads(layer.Wqkv(x), layer.num_heads)
    scores = solution.scale_scores(solution.compute_attention_scores(queries, keys), keys.shape[-1])
    visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    weights = masked(scores, visible)
    return layer.Wo(solution.merge_heads(weights @ values))


@misconception("CausalMultiHeadAttention")
class causal_ignored(solution.CausalMultiHeadAttention):
    """Your forward makes no use of causal: every token sees the future.

    With causal=True the scores of later tokens get no share. Where does your forward mask?
    """

    def forward(self, x, causal=False):
        return super().forward(x)


@misconception("CausalMultiHeadAttention")
class causal_always(solution.CausalMultiHeadAttention):
    """Your forward hides the future even when it is not asked to.

    The mask is off unless causal=True is given. Which lines stand under the condition, and what
    is the default of causal?
    """

    def forward(self, x, causal=True):
        return super().forward(x, causal=True)


@misconception("CausalMultiHeadAttention")
class past_masked(solution.CausalMultiHeadAttention):
    """Your mask hides the past and the token itself, and keeps the future.

    Row i belongs to query i, column j to key j. Is a key with j larger than i earlier or later?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self, x, lambda scores, visible: scores.masked_fill(visible, -math.inf).softmax(dim=-1)
        )


@misconception("CausalMultiHeadAttention")
class mask_transposed(solution.CausalMultiHeadAttention):
    """Your mask is transposed: a token sees itself and the future.

    Rows of the scores belong to queries, columns to keys. Which triangle may be seen?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: scores.masked_fill(~visible.T, -math.inf).softmax(dim=-1),
        )


@misconception("CausalMultiHeadAttention")
class diagonal_masked(solution.CausalMultiHeadAttention):
    """Your mask hides the diagonal: no token may see itself.

    The first token then sees nothing at all, and its row has no softmax. Does the diagonal
    belong to what a token may see?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: scores.masked_fill(~visible.tril(-1), -math.inf).softmax(
                dim=-1
            ),
        )


@misconception("CausalMultiHeadAttention")
class next_token_seen(solution.CausalMultiHeadAttention):
    """Your mask lets every token see one step ahead.

    Token i sees the tokens up to i itself. On which diagonal does the hidden part begin?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: scores.masked_fill(
                ~torch.ones_like(visible).tril(1), -math.inf
            ).softmax(dim=-1),
        )


@misconception("CausalMultiHeadAttention")
class masked_after_the_softmax(solution.CausalMultiHeadAttention):
    """You mask the weights after the softmax, so the rows no longer sum to 1.

    The hidden tokens have taken their share of the sum already. Before which step does the mask
    belong?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(self, x, lambda scores, visible: scores.softmax(dim=-1) * visible)


@misconception("CausalMultiHeadAttention")
class hidden_scores_set_to_zero(solution.CausalMultiHeadAttention):
    """You set the hidden scores to 0, and a score of 0 still gets a share.

    The softmax exponentiates, and exp(0) is 1. Which scores have an exponential of 0?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(self, x, lambda scores, visible: (scores * visible).softmax(dim=-1))


@misconception("CausalMultiHeadAttention")
class hidden_scores_slightly_negative(solution.CausalMultiHeadAttention):
    """Your hidden scores are negative, but not negative enough: they still get a share.

    exp(-1) is more than a third. How negative does a score have to be so that its exponential
    is 0?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self, x, lambda scores, visible: scores.masked_fill(~visible, -1.0).softmax(dim=-1)
        )


@misconception("CausalMultiHeadAttention")
class mask_added(solution.CausalMultiHeadAttention):
    """You add the mask of 1 and 0 to the scores, which moves them by 1 and hides nothing.

    The mask says which scores to keep. What happens to a score where the mask is 0?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self, x, lambda scores, visible: (scores + visible.to(scores.dtype)).softmax(dim=-1)
        )


@misconception("CausalMultiHeadAttention")
class infinity_without_the_minus(solution.CausalMultiHeadAttention):
    """Your hidden scores are plus infinity, and the softmax of that is no number.

    The share of a hidden token is 0. Which infinity has an exponential of 0?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self, x, lambda scores, visible: scores.masked_fill(~visible, math.inf).softmax(dim=-1)
        )


@misconception("CausalMultiHeadAttention")
class mask_times_infinity(solution.CausalMultiHeadAttention):
    """You multiply a mask by infinity, and 0 times infinity is no number.

    Where nothing is hidden, the score has to stay as it is. What picks one of two values instead
    of multiplying?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: (scores - (~visible).to(scores.dtype) * math.inf).softmax(
                dim=-1
            ),
        )


@misconception("CausalMultiHeadAttention")
class mask_in_single_precision(solution.CausalMultiHeadAttention):
    """Your masked scores become float32 on the way to the weights, whatever the layer's precision.

    A mask made without a dtype is float32, and adding it turns bfloat16 scores into float32
    too. Where could it get the dtype of the scores?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: (
                scores + torch.zeros(visible.shape).masked_fill(~visible, -math.inf)
            ).softmax(dim=-1),
        )


@misconception("CausalMultiHeadAttention")
class mask_of_a_fixed_length(solution.CausalMultiHeadAttention):
    """Your mask is made once for a few tokens, and a longer sequence does not fit.

    Cutting a mask down works, stretching it does not. Which tensor tells you how many tokens
    there are?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        made_once = torch.ones(6, 6, dtype=torch.bool).tril()[: x.shape[1], : x.shape[1]]
        return _masked(
            self,
            x,
            lambda scores, visible: scores.masked_fill(~made_once, -math.inf).softmax(dim=-1),
        )


@misconception("CausalMultiHeadAttention")
class masked_scores_detached(solution.CausalMultiHeadAttention):
    """Your mask cuts the scores off from the gradient.

    The output is right, but with causal=True queries and keys are never trained. Is there a
    detach or a .data in the line that masks?
    """

    def forward(self, x, causal=False):
        if not causal:
            return super().forward(x)
        return _masked(
            self,
            x,
            lambda scores, visible: (
                scores.detach().masked_fill(~visible, -math.inf).softmax(dim=-1)
            ),
        )
