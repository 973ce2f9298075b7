"""What comes after the last step: a model speaks, or learns, through the learner's layer."""
