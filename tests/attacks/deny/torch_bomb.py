# rows = [56]
# attack = "asks PyTorch for a tensor of a terabyte"
# step = "project_output"
# outcomes = ["out_of_memory"]
# exercise = "torch_single_head"
# ---
import torch


def project_output(attention_output, Wo):
    return torch.ones(1 << 38)
