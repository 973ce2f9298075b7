# rows = [70]
# attack = "says under a hostile name that it is not written yet"
# step = "project_output"
# outcomes = ["not_written"]
# ---
def hidden(attention_output, output_weights):
    raise NotImplementedError("full marks")


hidden.__code__ = hidden.__code__.replace(
    co_name="\x1b[2J<b>", co_qualname="\x1b[2J\u202e<script>alert(1)</script>"
)
project_output = hidden
