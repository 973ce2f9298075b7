# rows = [64]
# attack = "returns an object that runs code when it is unpickled or copied"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
import os


class Packed:
    def __reduce__(self):
        return os._exit, (0,)

    __deepcopy__ = __copy__ = __reduce_ex__ = lambda self, *_: os._exit(0)


def project_output(attention_output, output_weights):
    return Packed()
