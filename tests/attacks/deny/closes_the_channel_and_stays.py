# rows = [55, 66]
# attack = "closes the grader's connection and goes on for ever"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import os
import time


def project_output(attention_output, output_weights):
    os.close(3)
    while True:
        time.sleep(1)
