# kind: hostile
# base: reference
# hands in: script
# loses: split_heads
# outcome: crashed
import os


def split_heads(projected, num_heads):
    os._exit(0)
