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
def fused_layer_three_times_the_input(hidden_size, bias=True):
    """Your Wqkv is three times as wide as the input: the head has the full hidden size.

    Here one head is a quarter of the hidden size. How wide are a query, a key and a value
    together then?
    """
    return (
        nn.Linear(hidden_size, hidden_size * 3, bias=bias),
        nn.Linear(hidden_size, hidden_size, bias=bias),
    )


@misconception("create_projections")
def fused_layer_not_three_times_the_head(hidden_size, bias=True):
    """Your Wqkv makes only one head's width, enough for a query but not for key and value.

    One layer makes all three at once. How wide does it have to be?
    """
    head_dim = hidden_size // 4
    return nn.Linear(hidden_size, head_dim, bias=bias), nn.Linear(head_dim, hidden_size, bias=bias)


@misconception("create_projections")
def multiplied_before_dividing(hidden_size, bias=True):
    """Your Wqkv is three quarters of the hidden size, rounded at the end.

    Where 4 does not divide the hidden size, that cannot be cut into three equal parts. What is
    rounded first: the head, or three heads?
    """
    return (
        nn.Linear(hidden_size, hidden_size * 3 // 4, bias=bias),
        nn.Linear(hidden_size // 4, hidden_size, bias=bias),
    )


@misconception("create_projections")
def output_layer_from_the_hidden_size(hidden_size, bias=True):
    """Your Wo expects the full hidden size, and it gets vectors of one head's size.

    What comes out of the weighted sum has as many numbers as a value has. How many is that?
    """
    return (
        nn.Linear(hidden_size, hidden_size // 4 * 3, bias=bias),
        nn.Linear(hidden_size, hidden_size, bias=bias),
    )


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
    return wide, nn.Linear(hidden_size // 4, hidden_size)


def _parts(x, Wqkv):
    return Wqkv(x).reshape(*x.shape[:2], 3, -1).unbind(dim=2)


@misconception("project_qkv")
def three_behind_the_head(x, Wqkv):
    """You split the fused result as (B, S, head_dim, 3), so each part takes every third number.

    The numbers of one query lie next to each other. Which of the two axes comes first, the 3 or
    head_dim?
    """
    projected = Wqkv(x)
    return projected.reshape(*x.shape[:2], projected.shape[-1] // 3, 3).unbind(dim=-1)


@misconception("project_qkv")
def three_in_front_of_everything(x, Wqkv):
    """You reshape the fused result to (3, B, S, head_dim), which mixes tokens and sequences.

    A reshape keeps the order of the numbers in memory; it moves no axis. Which axis of the
    fused result is the one to be split?
    """
    projected = Wqkv(x)
    return projected.reshape(3, *x.shape[:2], projected.shape[-1] // 3).unbind(dim=0)


@misconception("project_qkv")
def three_in_front_of_the_sequence(x, Wqkv):
    """You reshape the fused result to (B, 3, S, head_dim), which mixes the tokens of a sequence.

    A reshape keeps the order of the numbers in memory, and there all that belongs to one token
    lies together. Behind which axis does the 3 belong?
    """
    B, S, _ = x.shape
    return Wqkv(x).reshape(B, 3, S, -1).unbind(dim=1)


@misconception("project_qkv")
def order_of_key_query_value(x, Wqkv):
    """Your queries are where the keys are due, and the other way round.

    The fused layer gives query, key, value in this order. In which order do you unpack them?
    """
    queries, keys, values = _parts(x, Wqkv)
    return keys, queries, values


@misconception("project_qkv")
def order_of_value_key_query(x, Wqkv):
    """Your three results come in the order value, key, query.

    The fused layer gives query, key, value in this order. In which order do you unpack them?
    """
    return tuple(reversed(_parts(x, Wqkv)))


@misconception("project_qkv")
def keys_used_for_values(x, Wqkv):
    """Your values are the keys once more.

    What a token offers for the match and what it passes on are two different parts. Which part
    is the third result?
    """
    queries, keys, _ = _parts(x, Wqkv)
    return queries, keys, keys


@misconception("project_qkv")
def projection_bias_forgotten(x, Wqkv):
    """Your projection leaves the bias of Wqkv out.

    A linear layer is a product and a bias. What does calling the layer do that a product with
    its weight does not?
    """
    projected = x @ Wqkv.weight.T
    return projected.reshape(*x.shape[:2], 3, projected.shape[-1] // 3).unbind(dim=2)


@misconception("compute_attention_scores")
def keys_not_transposed(queries, keys):
    """You multiply the queries by the keys without swapping axes of the keys.

    The head axis of a query has to meet the head axis of a key. Where does it stand in the
    keys now?
    """
    return queries @ keys


@misconception("compute_attention_scores")
def batch_axis_transposed(queries, keys):
    """You swap the batch axis of the keys with another one.

    The batch axis has no part in the transpose. Which two axes of the keys change places?
    """
    return queries @ keys.transpose(0, 2)


@misconception("compute_attention_scores")
def keys_times_queries(queries, keys):
    """Your scores are transposed: rows belong to keys and columns to queries.

    Entry (i, j) is query i times key j. Which of the two stands on the left?
    """
    return keys @ queries.transpose(-2, -1)


@misconception("compute_attention_scores")
def only_the_keys_own_query(queries, keys):
    """You multiply each query by the key of its own token only: the result is (B, S).

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
    """You divide by the square root of the hidden size, which is four times the head size.

    The dot product runs over one head's numbers. How many are they?
    """
    return attention_scores / math.sqrt(4 * head_dim)


@misconception("scale_scores")
def divided_by_the_root_of_the_sequence_length(attention_scores, head_dim):
    """You divide by the square root of the sequence length.

    Each score is a sum over the head axis, not over the sequence. Which number says how many
    products are added up?
    """
    return attention_scores / math.sqrt(attention_scores.shape[-1])


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
def softmax_over_the_batch(scaled_scores):
    """Your softmax runs along the batch: the sequences of a batch compete with each other.

    Sequences have nothing to do with one another here. Along which dimension do the keys of
    one query lie?
    """
    return scaled_scores.softmax(dim=0)


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
    return values.mean(dim=1, keepdim=True).expand_as(values)


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


@misconception("project_output")
def output_not_projected(attention_output, Wo):
    """You return the gathered values without projecting them.

    They are as narrow as the head. Which layer brings them back to the hidden size?
    """
    return attention_output.clone()


@misconception("project_output")
def output_bias_forgotten(attention_output, Wo):
    """Your projection leaves the bias of Wo out.

    A linear layer is a product and a bias. What does calling the layer do that a product with
    its weight does not?
    """
    return attention_output @ Wo.weight.T


@misconception("project_output")
def weight_of_the_layer_not_transposed(attention_output, Wo):
    """You multiply by the weight of Wo as it is stored, and the sizes do not meet.

    PyTorch stores the weight of a linear layer as (outputs, inputs). What does the layer do with
    it when it is called?
    """
    return attention_output @ Wo.weight + Wo.bias


def _attended(layer, x, divisor):
    queries, keys, values = solution.project_qkv(x, layer.Wqkv)
    scores = solution.compute_attention_scores(queries, keys)
    return layer.Wo((scores / divisor).softmax(dim=-1) @ values)


@misconception("SingleHeadAttention")
class bias_argument_ignored(solution.SingleHeadAttention):
    """Your layer has a bias although it was made with bias=False.

    The argument of `__init__` has to reach both linear layers. Where does yours end?
    """

    def __init__(self, hidden_size, bias=True):
        super().__init__(hidden_size)


@misconception("SingleHeadAttention")
class scaled_by_the_root_of_the_hidden_size(solution.SingleHeadAttention):
    """Your forward divides by the square root of the hidden size, and that of the head is due.

    The dot product runs over the numbers of one query. How many are they?
    """

    def forward(self, x):
        return _attended(self, x, math.sqrt(x.shape[-1]))


@misconception("SingleHeadAttention")
class scaled_by_the_root_of_a_quarter(solution.SingleHeadAttention):
    """Your forward divides by the square root of hidden_size / 4, a fraction where 4 does not fit.

    The head has a whole number of dimensions. Which division did you make it with, and which
    one does your forward use?
    """

    def forward(self, x):
        return _attended(self, x, math.sqrt(x.shape[-1] / 4))


@misconception("SingleHeadAttention")
class batch_of_two_assumed(solution.SingleHeadAttention):
    """Your forward reshapes to a batch of two, whatever the size of the batch.

    With another batch the numbers of one sequence end up in another, or do not fit at all. Where
    do the sizes in your reshape come from?
    """

    def forward(self, x):
        return super().forward(x.reshape(2, -1, x.shape[-1]))


@misconception("SingleHeadAttention")
class input_added_to_the_output(solution.SingleHeadAttention):
    """Your forward adds its input to the output.

    That is the residual connection of a Transformer block, which stands around the layer. Which
    step is the last one of attention itself?
    """

    def forward(self, x):
        return x + super().forward(x)


@misconception("SingleHeadAttention")
class weights_lowered_in_evaluation(solution.SingleHeadAttention):
    """Your forward multiplies the attention weights by a constant after eval().

    That belongs to a dropout that is not rescaled in training; this layer has no dropout, and is
    the same in both modes. Where does your forward look at self.training?
    """

    def forward(self, x):
        queries, keys, values = solution.project_qkv(x, self.Wqkv)
        scores = solution.compute_attention_scores(queries, keys)
        weights = solution.scale_scores(scores, keys.shape[-1]).softmax(dim=-1)
        if not self.training:
            weights = weights * 0.9
        return self.Wo(weights @ values)


@misconception("SingleHeadAttention")
class scores_added_up_over_the_calls(solution.SingleHeadAttention):
    """Your second call gives other numbers than the first, though its input is the same.

    The layer keeps the scores of the last call and adds the new ones to them. Which attribute
    does your forward write and read again?
    """

    def forward(self, x):
        queries, keys, values = solution.project_qkv(x, self.Wqkv)
        scores = solution.compute_attention_scores(queries, keys)
        self.scores = getattr(self, "scores", 0) + solution.scale_scores(scores, keys.shape[-1])
        return self.Wo(self.scores.softmax(dim=-1) @ values)


@misconception("SingleHeadAttention")
class scores_detached(solution.SingleHeadAttention):
    """Your forward cuts the attention weights off from the gradient.

    The output is right, but queries and keys are never trained. Is there a detach, a .data or a
    no_grad on the way from Wqkv to the weights?
    """

    def forward(self, x):
        queries, keys, values = solution.project_qkv(x, self.Wqkv)
        scores = solution.compute_attention_scores(queries, keys)
        weights = solution.scale_scores(scores, keys.shape[-1]).softmax(dim=-1)
        return self.Wo(weights.detach() @ values)


@misconception("SingleHeadAttention")
class output_detached(solution.SingleHeadAttention):
    """Your forward computes without recording gradients, so nothing can be trained.

    The output is right, but no gradient flows back from it. Is there a detach, a .data or a
    no_grad around your steps?
    """

    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


@misconception("SingleHeadAttention")
class gathered_values_detached(solution.SingleHeadAttention):
    """Your forward cuts off the gradient in front of Wo: Wqkv is never trained.

    The output is right, but only the last layer learns. What happens to the gathered values
    before they reach Wo?
    """

    def forward(self, x):
        queries, keys, values = solution.project_qkv(x, self.Wqkv)
        scores = solution.compute_attention_scores(queries, keys)
        weights = solution.scale_scores(scores, keys.shape[-1]).softmax(dim=-1)
        return self.Wo((weights @ values).detach())


@misconception("SingleHeadAttention")
class input_overwritten(solution.SingleHeadAttention):
    """Your forward changes the token vectors that it is given.

    The tensor belongs to the caller, who may still need it. Which of your lines change a tensor
    in place?
    """

    def forward(self, x):
        output = super().forward(x)
        x.copy_(output.detach())
        return output


@misconception("SingleHeadAttention")
class computed_in_single_precision(solution.SingleHeadAttention):
    """Your forward turns its input to float32, and the layers may have another precision.

    A module follows the dtype of its parameters. Which line of yours names a dtype?
    """

    def forward(self, x):
        return super().forward(x.float())


@misconception("SingleHeadAttention")
class input_returned(solution.SingleHeadAttention):
    """Your forward returns its input.

    The output has the shape of the input, but its numbers are the gathered and projected
    values. Which result does your last line return?
    """

    def forward(self, x):
        return x.clone()
