# rows = [72]
# attack = "makes the bell that its host waits for a blocking one, and takes the ring away between look and read"
# step = "project_output"
# outcomes = ["raised"]
# ---
import fcntl
import os
import select


def project_output(attention_output, output_weights):
    through = []
    for name, call in {
        "F_SETFL": lambda: fcntl.fcntl(4, fcntl.F_SETFL, 0),
        "FIONBIO": lambda: fcntl.ioctl(4, 0x5421, b"\0\0\0\0"),
        "set_blocking": lambda: os.set_blocking(4, True),
        "reading the bell": lambda: os.read(4, 8),
    }.items():
        try:
            call()
            through.append(name)
        except OSError:
            pass
    heard = select.poll()
    heard.register(4, select.POLLIN)
    if through or any(event & select.POLLIN for _, event in heard.poll(0)):
        print(through)
        return attention_output @ output_weights
    raise PermissionError("the bell is only for ringing")
