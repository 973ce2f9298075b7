# rows = [66]
# attack = "aborts its process"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import os


def project_output(attention_output, output_weights):
    os.abort()
