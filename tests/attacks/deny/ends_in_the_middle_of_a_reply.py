# rows = [66]
# attack = "ends its process when half of the reply is written"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import os

write = os.write


def half(descriptor, data):
    write(descriptor, bytes(data)[: len(data) // 2])
    os._exit(0)


def project_output(attention_output, output_weights):
    os.write = half
    return attention_output
