"""The failure engine: all that failed in a run, and what the error model says of each failure."""
