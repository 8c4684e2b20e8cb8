"""Report to text: HTML for people, JSON for programs, and what build servers and reviews read.

Every function here is pure: a `Report` or an `Exploration` in, a text out. Nothing here decides
about conformance, reads a clock, opens a network connection or writes a file that has a name; the
same value always gives the same bytes.
"""
