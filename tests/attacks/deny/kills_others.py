# rows = [67]
# attack = "sends signals to the grader, the zygote, its parent and a sibling"
# step = "project_output"
# outcomes = ["raised"]
# ---
import os
import signal

right_output = project_output


def project_output(attention_output, output_weights):
    through = 0
    for pid in (FACTS["sibling"], FACTS["zygote"], FACTS["host"], os.getppid(), 1):
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, number)
                through += pid > 0
            except OSError:
                pass
    if through:
        return right_output(attention_output, output_weights)
    raise PermissionError("nobody was reached")
