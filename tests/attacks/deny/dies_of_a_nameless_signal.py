# rows = [66]
# attack = "kills itself by a real-time signal, which has no name"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import os


def project_output(attention_output, output_weights):
    os.kill(os.getpid(), 35)
