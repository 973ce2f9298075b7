"""From what came back to what is said of it: compare, explain, name. No pytest, no sandbox."""
