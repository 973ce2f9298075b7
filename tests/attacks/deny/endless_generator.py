# rows = [63]
# attack = "returns a generator without end"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
import itertools


def project_output(attention_output, output_weights):
    return (attention_output for _ in itertools.count())
