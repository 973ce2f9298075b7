# kind: half
# base: stub
# hands in: notebook
# keeps: softmax initialize_weights project_qkv compute_attention_scores scale_scores
