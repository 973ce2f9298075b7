# kind: hostile
# base: reference
# hands in: notebook
# loses: compute_attention_scores
# outcome: crashed
import os


def compute_attention_scores(queries, keys):
    os._exit(0)
