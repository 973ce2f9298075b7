"""The untrusted side: the process in which a student's code runs, and how it is spoken to.

With it is what both sides speak: frames, arrays, calls. It imports the standard library and the
array library, and nothing else of the kit: inside the sandbox no other file of it can be seen.
"""
