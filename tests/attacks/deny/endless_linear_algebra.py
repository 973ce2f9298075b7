# rows = [54]
# attack = "decomposes matrices in LAPACK without end"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    while True:
        np.linalg.svd(np.random.default_rng(0).normal(size=(600, 600)))
