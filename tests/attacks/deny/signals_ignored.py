# rows = [53]
# attack = "ignores every signal and catches every exception"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import signal


def project_output(attention_output, output_weights):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
