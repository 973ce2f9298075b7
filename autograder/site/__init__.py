"""The exercises in a browser, with nothing to install: what its Python is made of."""
