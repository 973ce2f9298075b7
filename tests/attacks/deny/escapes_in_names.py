# rows = [70]
# attack = "hides them in the names of types, functions and variables"
# step = "project_output"
# outcomes = ["raised"]
# ---
TEXT = "\x1b[2J\u202e<script>alert(1)</script>`[/]"


def project_output(attention_output, output_weights):
    hidden = lambda: exec("array = source\nraise kind(text)", {"kind": type(TEXT, (Exception,), {}), "text": TEXT, "source": attention_output})
    hidden.__name__ = hidden.__qualname__ = TEXT
    hidden()
