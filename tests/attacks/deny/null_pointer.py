# rows = [66]
# attack = "reads at address zero"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import ctypes


def project_output(attention_output, output_weights):
    return ctypes.string_at(0)
