"""Known wrong layers that exercises share; each docstring is what the student reads.

They are mixed into an exercise's right layer (`wrong_layers`). Those that change something inside
forward need an `OpenLayer`.
"""

import math


def wrong_layers(*right):
    """Return a function that makes a wrong layer: a mistake, mixed into the classes `right`."""

    def made(mistake):
        return type(mistake.__name__, (mistake, *right), {"__doc__": mistake.__doc__})

    return made


def _same(tensor):
    return tensor


def _softmax(scores):
    return scores.softmax(dim=-1)


class OpenLayer:
    """A right layer of PyTorch that can be changed on the way from x to its output.

    A subclass says how x becomes queries, keys and values (`parts`), and how what the tokens
    have gathered becomes the output (`output`).
    """

    def attend(self, x, *, root=None, weights_of=_softmax, values_of=_same, gathered=_same):
        """Return the output for x. The scores are divided by `root` (by default that of the head
        size) and go through `weights_of`, the values through `values_of`, their sums `gathered`.
        """
        queries, keys, values = self.parts(x)
        scores = queries @ keys.transpose(-2, -1) / (root or math.sqrt(keys.shape[-1]))
        return self.output(gathered(weights_of(scores) @ values_of(values)))

    def attend_over_the_heads(self, x):
        """Return what the heads of each token gather from each other: (B, tokens, heads, size)."""
        queries, keys, values = (part.transpose(1, 2) for part in self.parts(x))
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
        return _softmax(scores) @ values


class input_added_to_the_output:
    """Your forward adds its input to the output.

    That is the residual connection of a Transformer block, and it goes around the layer. Which
    step is the last one of attention itself?
    """

    def forward(self, x, **options):
        return x + super().forward(x, **options)


class input_returned:
    """Your forward returns its input.

    The output has the shape of the input, but its numbers are the gathered and projected
    values. Which result does your last line return?
    """

    def forward(self, x, **options):
        return 1 * x


class bias_argument_ignored:
    """Your layer has a bias although it was made with bias=False.

    The argument of `__init__` has to reach both linear layers. How far does yours get?
    """

    def __init__(self, *arguments):
        super().__init__(*(size for size in arguments if not isinstance(size, bool)))


class scaled_by_the_root_of_the_hidden_size:
    """Your forward divides by the square root of the hidden size, not of the head size.

    The dot product runs over the numbers of one query. How many are there?
    """

    def forward(self, x):
        return self.attend(x, root=math.sqrt(x.shape[-1]))


class scaled_after_the_softmax:
    """Your forward applies the softmax first and scales afterwards: the rows do not sum to 1.

    The scaling keeps the scores small for the softmax. Which of the two comes first?
    """

    def forward(self, x):
        root = math.sqrt(self.parts(x)[1].shape[-1])
        return self.attend(x, root=1, weights_of=lambda scores: _softmax(scores) / root)


class batch_of_two_assumed:
    """Your forward reshapes to a batch of two, whatever the size of the batch.

    In any other batch, the numbers of one {sequence} end up in another, or do not fit at all.
    Where do the sizes in your reshape come from?
    """

    def forward(self, x):
        return super().forward(x.reshape(2, -1, x.shape[-1]))


class one_head_only:
    """Your layer works with a single head of the full {hidden}, whatever num_heads says.

    The shapes come out right all the same. Where does your forward use the number of heads?
    """

    def forward(self, x):
        self.num_heads = 1
        return super().forward(x)


class heads_attend_to_heads:
    """In your forward, the heads of one token attend to each other, not the tokens to each other.

    A matrix product takes the last two axes. Which axis stands in front of head_dim in your
    queries and keys, and which one should?
    """

    def forward(self, x):
        return self.output(self.attend_over_the_heads(x).transpose(1, 2))


class heads_attend_to_heads_and_are_mixed:
    """In your forward, the heads of one token attend to each other, and merging mixes the tokens.

    A matrix product takes the last two axes. Which axis stands in front of head_dim in your
    queries and keys, and which one should?
    """

    def forward(self, x):
        gathered = self.attend_over_the_heads(x)
        mixed = gathered.transpose(1, 2).reshape(gathered.shape)
        return self.output(mixed.transpose(1, 2))


class weights_lowered_in_evaluation:
    """Your forward multiplies the attention weights by a constant after eval().

    Only a dropout that is not rescaled in training needs that. This layer has none, and does the
    same in both modes. Where does your forward look at `self.training`?
    """

    def forward(self, x):
        kept = 1.0 if self.training else 0.9
        return self.attend(x, weights_of=lambda scores: kept * _softmax(scores))


class scores_detached:
    """In your forward, queries and keys get no gradient, so what makes them is never trained.

    The output is right. Is there a `detach`, a `.data` or a `no_grad` on the way from
    {score_layers} to the weights? Or does your forward compute with a copy?
    """

    def forward(self, x):
        return self.attend(x, weights_of=lambda scores: _softmax(scores).detach())


class nothing_trained:
    """In your forward, no parameter gets a gradient, so nothing can be trained.

    The output is right. Is there a `detach`, a `.data`, a `torch.tensor` or a `no_grad` around your
    steps, or do they get copies of the layers?
    """

    def forward(self, x):
        return super().forward(x).detach()


class only_the_last_layer_trained:
    """In your forward, only {Wo} gets a gradient: {untrained} trained.

    The output is right. What happens to the gathered values before they reach {Wo}? Or does your
    forward compute with a copy of a layer?
    """

    def forward(self, x):
        return self.attend(x, gathered=lambda sums: sums.detach())


class input_overwritten:
    """Your forward changes the token vectors that it gets.

    The tensor belongs to the caller, who may still need it. Which of your lines change a tensor
    in place?
    """

    def forward(self, x):
        output = super().forward(x)
        x.copy_(output.detach())
        return output
