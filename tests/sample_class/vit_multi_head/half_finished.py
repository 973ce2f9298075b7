# kind: half
# base: stub
# hands in: notebook
# keeps: create_projections project_qkv split_heads compute_scaled_scores
