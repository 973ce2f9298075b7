# rows = [56]
# attack = "asks for an array of 128 GB"
# step = "project_output"
# outcomes = ["out_of_memory"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    return np.ones((1 << 17, 1 << 17))
