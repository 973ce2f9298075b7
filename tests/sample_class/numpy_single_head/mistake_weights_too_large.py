# kind: mistake
# base: reference
# hands in: notebook
# loses: initialize_weights
# named: weights_not_scaled
def initialize_weights(embedding_dimension, rng):
    draw = lambda: rng.standard_normal((embedding_dimension, embedding_dimension))
    return draw(), draw(), draw(), draw()
