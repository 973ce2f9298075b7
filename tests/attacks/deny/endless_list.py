# rows = [63]
# attack = "returns a list whose iteration never ends"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0

    def __len__(self):
        return 1


def project_output(attention_output, output_weights):
    return Endless()
