"""The exercises as web pages with Python in them, for any static host: nothing to install."""
