# rows = [52]
# attack = "never ends, in a call"
# step = "scale_scores"
# outcomes = ["timed_out"]
# ---
def scale_scores(attention_scores, embedding_dimension):
    while True:
        pass
