"""Makes what students get from what instructors wrote: solutions/ in, assignments/ out."""
