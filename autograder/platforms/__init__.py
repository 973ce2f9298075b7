"""In and out of learning platforms: their downloads, their gradebooks, what their graders read."""
