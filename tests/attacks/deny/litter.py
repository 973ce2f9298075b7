# rows = [73]
# attack = "leaves files wherever it can"
# step = "project_output"
# outcomes = ["raised"]
# ---
import os
import sys
import tempfile

right_output = project_output


def project_output(attention_output, output_weights):
    through = []
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", "/run", FACTS["secret_folder"], sys.prefix):
        try:
            with open(os.path.join(folder, "litter"), "w") as file:
                file.write("left by a student")
            through.append(folder)
        except OSError:
            pass
    if through:
        print(through)
        return right_output(attention_output, output_weights)
    raise PermissionError("nothing was left")
