"""Makes a release to hand out: a folder or an archive per exercise, with the kit inside.

It is made from `assignments/`, which is generated. Here the kit to install is added, and
everything is searched once more for what only instructors may read. Nobody else's files are
overwritten.
"""
