# rows = [55]
# attack = "sleeps, using no processor time"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import time


def project_output(attention_output, output_weights):
    time.sleep(1_000_000)
