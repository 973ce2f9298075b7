"""What students get, ready to hand out: a folder or an archive per exercise, the kit inside.

It comes out of `assignments/`, which is generated; here the kit to install is put beside it,
everything is searched once more for what only instructors may read, and nothing that somebody
else has written is overwritten.
"""
