# rows = [59]
# attack = "starts threads without end"
# step = "project_output"
# outcomes = ["raised", "out_of_memory", "crashed"]
# ---
import threading


def project_output(attention_output, output_weights):
    never = threading.Event()
    while True:
        threading.Thread(target=never.wait, daemon=True).start()
