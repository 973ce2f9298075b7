# rows = [52]
# attack = "never ends, when the grader reads an attribute"
# step = "SingleHeadAttention"
# outcomes = ["timed_out"]
# ---
class SingleHeadAttention(SingleHeadAttention):
    @property
    def query_weights(self):
        while True:
            pass

    @query_weights.setter
    def query_weights(self, value):
        pass
