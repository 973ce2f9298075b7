# rows = [70]
# attack = "prints and raises sequences that rewrite a terminal or a page"
# step = "project_output"
# outcomes = ["raised"]
# ---
TEXT = (
    "\x1b[2J\x1b[31m\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil\x07x\x1b]8;;\x07"
    "\x9b31m\u202eevil\u202c\u2066\u200b<script>alert(1)</script><img src=x onerror=alert(1)>"
    "[link=http://evil][bold]x[/bold]\r100 points\x00\ud800::add-mask::x"
)


def project_output(attention_output, output_weights):
    print(TEXT.encode("utf-8", "replace").decode())
    raise ValueError(TEXT)
