"""The untrusted side: the process in which a student's code runs.

It imports the standard library, the array library and `autograder.protocol`, and nothing
else of the kit: inside the sandbox no other file of the kit can be seen.
"""
