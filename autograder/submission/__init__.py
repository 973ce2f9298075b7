"""What was handed in, as code that can be run: read as text, and run as far as it can be."""
