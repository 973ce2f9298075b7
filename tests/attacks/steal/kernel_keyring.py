# rows = [39, 69]
# attack = "puts a key into the kernel's keyring and reads it back"
# step = "softmax"
# outcomes = ["raised"]
# ---
import ctypes
import platform

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
READ, OF_THIS_PROCESS = 11, -2


def softmax(scores):
    key = libc.syscall(ADD_KEY, b"user", b"attn", b"loot", ctypes.c_size_t(4), OF_THIS_PROCESS)
    if key < 0:
        raise OSError(ctypes.get_errno(), "add_key")
    room = ctypes.create_string_buffer(8)
    libc.syscall(KEYCTL, READ, key, room, ctypes.c_size_t(8))
    print(room.value)
    raise RuntimeError("through")
