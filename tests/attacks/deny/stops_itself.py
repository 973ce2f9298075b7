# rows = [55]
# attack = "stops its own process, so that it can neither answer nor end"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import os
import signal


def project_output(attention_output, output_weights):
    os.kill(os.getpid(), signal.SIGSTOP)
