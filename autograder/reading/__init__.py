"""Reading: what was handed in, as code that can be run. It is only ever looked at as text."""
