"""The learner's notebook: the checks, the card under each, and the last cells."""
