# rows = [60]
# attack = "writes without end into one file, then into others"
# step = "project_output"
# outcomes = ["raised"]
# ---
import tempfile


def project_output(attention_output, output_weights):
    kept = []
    while True:
        kept.append(tempfile.NamedTemporaryFile(prefix="litter"))
        try:
            while True:
                kept[-1].write(bytes(1 << 20))
        except OSError:
            if len(kept) > 32:
                raise
