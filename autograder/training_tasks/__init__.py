"""Small tasks that a model learns in seconds, with somebody's own layer as its attention."""
