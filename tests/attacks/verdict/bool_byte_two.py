# rows = [25]
# attack = "returns booleans whose bytes are 2, which count as True in some comparisons"
# step = "create_causal_mask"
# outcomes = ["wrong_values"]
# ---
import numpy as np


def create_causal_mask(sequence_length):
    return np.full((sequence_length, sequence_length), 2, dtype=np.uint8).view(bool)
