# rows = [57]
# attack = "makes files in memory, where no limit of size holds"
# step = "project_output"
# outcomes = ["raised"]
# ---
import os

right_output = project_output


def project_output(attention_output, output_weights):
    for number in range(8):
        file = os.memfd_create(f"litter{number}")
        for _ in range(8):
            os.write(file, bytes(1 << 20))
    return right_output(attention_output, output_weights)
