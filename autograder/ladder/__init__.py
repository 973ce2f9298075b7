"""The rungs between the hints and the solution: lines to sort, and a gap to fill."""
