# rows = [60]
# attack = "uses up the names of a disk with empty files"
# step = "project_output"
# outcomes = ["raised"]
# ---
import tempfile


def project_output(attention_output, output_weights):
    place = tempfile.mkdtemp(prefix="litter")
    for number in range(100_000):
        open(f"{place}/{number}", "w").close()
