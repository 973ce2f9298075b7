# rows = [9, 12]
# attack = "replaces how a tensor becomes an array, so that it is never the same"
# step = "compute_attention_weights"
# outcomes = ["wrong_values"]
# exercise = "torch_single_head"
# others = "any"
# ---
import numpy as np
import torch


def compute_attention_weights(scaled_scores):
    torch.Tensor.numpy = lambda self, **keywords: np.zeros(tuple(self.shape), np.float32)
    return scaled_scores * 0.0
