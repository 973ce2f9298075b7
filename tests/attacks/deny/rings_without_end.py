# rows = [66]
# attack = "wakes its host without end, and never answers"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import os


def project_output(attention_output, output_weights):
    while True:
        try:
            os.write(4, b"ring")
        except BlockingIOError:
            pass
