# rows = [62]
# attack = "returns more than the wire carries"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    return np.zeros(9_000_000)
