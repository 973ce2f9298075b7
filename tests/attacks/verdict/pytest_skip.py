# rows = [16]
# attack = "asks pytest for its own test to be skipped"
# step = "softmax"
# outcomes = ["raised"]
# ---
import pytest


def softmax(scores):
    pytest.skip("not today", allow_module_level=True)
