"""The frozen requirement sets: a YAML file for each error model, written by a program, not by hand.

`docs/conformance-levels.md` says what they are for, and how a new revision is made.
"""
