# rows = [61]
# attack = "prints without end"
# step = "project_output"
# outcomes = ["output_limit"]
# ---
def project_output(attention_output, output_weights):
    while True:
        print("full marks " * 1000)
