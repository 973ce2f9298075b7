# rows = [54]
# attack = "has a regular expression go back for ever"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import re


def project_output(attention_output, output_weights):
    return re.match("(a+)+$", "a" * 60 + "b")
