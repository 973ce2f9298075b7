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
def layer_weights_not_transposed(x, q_linear, k_linear, v_linear):
    """You multiply by the weights of the layers as they are stored, which is transposed.

    PyTorch keeps a layer's weight as (outputs, inputs). What does calling the layer do that your
    product does not?
    """
    return tuple(x @ layer.weight + layer.bias for layer in (q_linear, k_linear, v_linear))


@misconception("project_qkv")
def tokens_not_projected(x, q_linear, k_linear, v_linear):
    """You return the token vectors themselves three times, without projecting them.

    A token is seen in three ways. Where do the three layers come in?
    """
    return x, x.clone(), x.clone()


@misconception("split_heads")
def viewed_across_the_tokens(projected, num_heads):
    """You view the tensor as (B, heads, N, head_dim) at once, so each head gets whole tokens.

    A view keeps the order of the numbers in memory; it moves no axis. Which axis is the one to be
    cut in two, and what moves the head axis to its place afterwards?
    """
    B, N, D = projected.shape
    return projected.reshape(B, num_heads, N, D // num_heads)


@misconception("split_heads")
def heads_left_behind_the_tokens(projected, num_heads):
    """Your result is (B, N, heads, head_dim): the head axis is still behind the tokens.

    The matrix products that follow run over the last two axes, and those have to be tokens and
    head size. Which two axes have yet to change places?
    """
    B, N, D = projected.shape
    return projected.view(B, N, num_heads, D // num_heads)


@misconception("split_heads")
def head_size_in_front_of_the_heads(projected, num_heads):
    """You cut the last axis as (head_dim, heads), so a head takes every so many-th number.

    The numbers of one head lie next to each other. Which of the two new axes comes first?
    """
    B, N, D = projected.shape
    return projected.view(B, N, D // num_heads, num_heads).permute(0, 3, 1, 2)


@misconception("split_heads")
def heads_and_head_size_confused(projected, num_heads):
    """You make as many heads as a head has numbers, and give each num_heads numbers.

    num_heads says how many heads there are. How do you get the size of each from it?
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
    """Your result is (heads, B, N, head_dim): the head axis stands in front of the batch.

    The batch stays first. Which axis of the viewed tensor comes first in your permute?
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
def number_of_heads_fixed(projected, num_heads):
    """You split into 12 heads, whatever num_heads is.

    That is the number of one model, and this function splits into any. Where does your code use
    its second argument?
    """
    return solution.split_heads(projected, 12)


@misconception("compute_scaled_scores")
def keys_not_transposed(queries, keys):
    """You multiply the queries by the keys without swapping axes of the keys.

    The head size of a query has to meet the head size of a key. Where does it stand in the
    keys now?
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
def keys_times_queries(queries, keys):
    """Your scores are transposed: rows belong to keys and columns to queries.

    Entry (i, j) is query i times key j. Which of the two stands on the left?
    """
    return keys @ queries.transpose(-2, -1) / math.sqrt(keys.shape[-1])


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
def scale_fixed(queries, keys):
    """You divide by 8, whatever the size of the head is.

    That is the square root of 64, the head size of one model. Which axis of the keys tells the
    size of this head?
    """
    return _scores(queries, keys) / 8


@misconception("compute_scaled_scores")
def queries_scaled_in_place(queries, keys):
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
    """Your softmax runs along the heads: the heads compete with each other for every pair.

    Each head divides its attention for itself. Along which dimension do the keys of one query
    lie?
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
    """Every token gets the plain average of the values: the weights make no difference.

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
def heads_summed_up(attention_weights, values):
    """You add up the results of the heads, so the head axis is lost.

    Each head keeps its own result until they are merged. Over which axes does your sum run?
    """
    return (attention_weights @ values).sum(dim=1)


@misconception("apply_attention")
def values_of_the_first_head_for_all(attention_weights, values):
    """Every head gathers the values of head 0.

    Each head has values of its own. What happens to the head axis of the values?
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
def view_of_a_permuted_tensor(attention_output):
    """You call view on a permuted tensor, and its numbers do not lie in memory in the order of its axes.

    permute moves no number, view moves none either, so view refuses. What lays the numbers out
    anew, and does it stand between the permute and the view?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.permute(0, 2, 1, 3).view(B, N, heads * head_dim)


@misconception("merge_heads")
def merged_without_the_permute(attention_output):
    """You bring the tensor to (B, N, D) without moving the head axis, which mixes the tokens.

    The shape is right, but a view or reshape keeps the order of the numbers: the first vector then
    holds several tokens of head 0. Which axes have to change places first?
    """
    B, heads, N, head_dim = attention_output.shape
    return attention_output.reshape(B, N, heads * head_dim)


@misconception("merge_heads")
def heads_interleaved(attention_output):
    """Your vectors take one number of each head in turn.

    All numbers of head 0 come first, then those of head 1. In which order do the last two axes
    stand before they become one?
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
    """You average the heads, so only head_dim numbers are left of each token.

    Nothing is thrown away here: the heads stand side by side. How many numbers do they have
    together?
    """
    return attention_output.mean(dim=1)


@misconception("merge_heads")
def heads_added_up(attention_output):
    """You add up the heads, so only head_dim numbers are left of each token.

    Nothing is thrown away here: the heads stand side by side. How many numbers do they have
    together?
    """
    return attention_output.sum(dim=1)


@misconception("merge_heads")
def last_two_axes_not_joined(attention_output):
    """Your result is (B, N, heads, head_dim): the axes are in order, but still four.

    The last two are to become one of size D. Which call joins two axes?
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

    They stand side by side and are not mixed yet. Which layer does that?
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
    """You multiply by the weight of out_linear as it is stored, which is transposed.

    PyTorch keeps a layer's weight as (outputs, inputs). What does calling the layer do that your
    product does not?
    """
    return merged @ out_linear.weight + out_linear.bias


@misconception("project_output")
def merged_heads_added_again(merged, out_linear):
    """You add the merged heads to their projection.

    A residual connection belongs to the block around this layer. What does this step return?
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
class number_of_heads_ignored(solution.MultiHeadSelfAttention):
    """Your layer has a single head as wide as the whole vector: num_heads makes no difference.

    The output has the right shape, but each head is to attend for itself. Where does your forward
    use num_heads?
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
class later_tokens_hidden(solution.MultiHeadSelfAttention):
    """Your layer hides the later tokens from each token, as a language model does.

    The patches of an image have no future: every token sees all tokens. Is there a mask in your
    forward?
    """

    def forward(self, x):
        projected = solution.project_qkv(x, self.q_linear, self.k_linear, self.v_linear)
        queries, keys, values = (solution.split_heads(each, self.num_heads) for each in projected)
        scores = solution.compute_scaled_scores(queries, keys)
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
        return self.out_linear(solution.merge_heads(weights @ values))


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
    """You add the input to the output.

    A residual connection belongs to the block around this layer. Which result does your last line
    return?
    """

    def forward(self, x):
        return super().forward(x) + x


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
