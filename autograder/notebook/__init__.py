"""The learner's notebook: checks, the card under them, the finale."""
