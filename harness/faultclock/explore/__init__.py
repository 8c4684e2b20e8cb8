"""Exploration: finds failures that come and go, and hands over the smallest run that shows each.

`drawing` says what run n of a scenario is, `trial` makes it and judges it, `engine` makes many of
them in worker processes and folds what they came to: `fingerprint` says which failures are the
same, `coverage` what was reached. Of each failure `shrink` looks for the smallest run, over the
`reductions` of its scenario, `divergence` sets it beside the nearest run that passes, and
`artefacts` writes what a person takes away: `followup` does all three.

Nothing here depends on the time of day, on the number of workers or on who finishes first.
"""
