"""The failure engine: all that failed in a run, and what the error model says of each failure.

failure             what a failure is
sources, sources_programs, sources_tools    where failures come from, a group of facts each
engine              all of them, classified and put in order
"""
