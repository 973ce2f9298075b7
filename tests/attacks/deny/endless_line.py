# rows = [61]
# attack = "prints one line that has no end"
# step = "project_output"
# outcomes = ["output_limit"]
# ---
import os


def project_output(attention_output, output_weights):
    while True:
        os.write(1, b"\xf0\x9f" * 4096)
