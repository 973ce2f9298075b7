"""What students get, made from what instructors wrote: solutions/ in, assignments/ out."""
