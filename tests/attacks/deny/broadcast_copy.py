# rows = [56]
# attack = "makes a view of nothing, and a copy of the view"
# step = "project_output"
# outcomes = ["out_of_memory"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    return np.broadcast_to(attention_output, (1 << 24, *attention_output.shape)).copy()
