# rows = [61]
# attack = "writes to standard error without end"
# step = "project_output"
# outcomes = ["output_limit"]
# ---
import sys


def project_output(attention_output, output_weights):
    while True:
        print("full marks " * 1000, file=sys.stderr)
