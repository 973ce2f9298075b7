# rows = [25]
# attack = "masks with minus infinity everywhere, hoping that all very negative scores are one"
# step = "apply_mask"
# outcomes = ["wrong_values"]
# ---
import numpy as np


def apply_mask(scaled_scores, causal_mask):
    return np.full(scaled_scores.shape, -np.inf)
