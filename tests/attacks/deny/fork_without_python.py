# rows = [58]
# attack = "makes processes by other calls: vfork, clone, posix_spawn"
# step = "project_output"
# outcomes = ["raised"]
# ---
import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
right_output = project_output


def spawn():
    return os.posix_spawn("/bin/true", ["true"], {})


def project_output(attention_output, output_weights):
    done = []
    clone = libc.syscall
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    for way in (spawn, libc.vfork, lambda: clone(number, int(signal.SIGCHLD), 0, 0, 0, 0)):
        try:
            done.append(way() >= 0)
        except OSError:
            done.append(False)
    if any(done):
        return right_output(attention_output, output_weights)
    raise PermissionError(f"none of {len(done)}")
