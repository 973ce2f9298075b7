# rows = [40]
# attack = "becomes another program, which prints to the worker's output"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import os


def softmax(scores):
    os.execv("/bin/cat", ["cat", FACTS["secret_file"]])
