"""Which step of a learner's own layer goes wrong, or which call of one: at home and in class."""
