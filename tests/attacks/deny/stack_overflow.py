# rows = [65]
# attack = "takes the limit of recursion away and recurses through C"
# step = "project_output"
# outcomes = ["crashed", "out_of_memory"]
# ---
import sys


def deeper(item):
    return list(map(deeper, [item]))


def project_output(attention_output, output_weights):
    sys.setrecursionlimit(1 << 30)
    return deeper(0)
