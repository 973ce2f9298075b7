# rows = [62]
# attack = "raises an error whose type, text and variables are 300 kB long"
# step = "project_output"
# outcomes = ["raised"]
# ---
import numpy as np


def project_output(attention_output, output_weights):
    for number in range(20):
        exec(f"{'a' * 30_000}{number} = attention_output")
    long = "e" * 300_000
    exec(f"{long} = attention_output\nraise type('E' * 300_000, (Exception,), {{}})('m' * 300_000)")
