# rows = [66]
# attack = "ends its process when half of the reply is written"
# step = "project_output"
# outcomes = ["crashed"]
# ---
import os
import socket

send = socket.socket.send


def half(channel, data, *flags):
    send(channel, bytes(data)[: len(data) // 2], *flags)
    os._exit(0)


def project_output(attention_output, output_weights):
    socket.socket.send = half
    return attention_output
