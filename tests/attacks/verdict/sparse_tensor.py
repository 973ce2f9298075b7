# rows = [25]
# attack = "returns a sparse tensor, in which nothing is stored"
# step = "compute_attention_weights"
# outcomes = ["wrong_type"]
# exercise = "torch_single_head"
# ---
import torch


def compute_attention_weights(scaled_scores):
    return torch.zeros(scaled_scores.shape).to_sparse()
