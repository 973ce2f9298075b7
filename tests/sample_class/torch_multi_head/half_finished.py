# kind: half
# base: stub
# hands in: notebook
# keeps: create_projections split_heads compute_attention_scores scale_scores
