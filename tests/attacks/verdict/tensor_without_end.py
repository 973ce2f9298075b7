# rows = [22, 25]
# attack = "returns an expanded tensor that claims a terabyte"
# step = "compute_attention_weights"
# outcomes = ["wrong_type"]
# exercise = "torch_single_head"
# ---
import torch


def compute_attention_weights(scaled_scores):
    return torch.zeros(1).expand(1 << 18, 1 << 20)
