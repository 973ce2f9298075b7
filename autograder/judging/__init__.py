"""From a reply to what is said about it: compare, explain, name. No pytest, no sandbox."""
