"""Levels of conformance: what is run for one, what its traces come to, and whether it is reached.

`appraisal` is the heart, and pure: set, model and evidence in, verdict and all that stands against
it out. `judging` makes a report of traces of any origin. `evidence` has the runs made.
"""
