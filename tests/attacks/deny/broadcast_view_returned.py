# rows = [56, 62]
# attack = "returns a view of one number that is a terabyte when it is written out"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    return np.broadcast_to(np.float64(1), (1 << 20, 1 << 17))
