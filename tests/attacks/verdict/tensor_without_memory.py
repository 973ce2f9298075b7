# rows = [25]
# attack = "returns a tensor that has a shape and no numbers"
# step = "compute_attention_weights"
# outcomes = ["wrong_type"]
# exercise = "torch_single_head"
# ---
import torch


def compute_attention_weights(scaled_scores):
    return torch.zeros(scaled_scores.shape, device="meta")
