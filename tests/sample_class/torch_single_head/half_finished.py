# kind: half
# base: stub
# hands in: notebook
# keeps: create_projections project_qkv compute_attention_scores
