# rows = [56]
# attack = "makes an expanded tensor contiguous"
# step = "scale_scores"
# outcomes = ["out_of_memory"]
# exercise = "torch_single_head"
# ---
def scale_scores(attention_scores, head_dim):
    return attention_scores.expand(1 << 24, *attention_scores.shape).contiguous()
