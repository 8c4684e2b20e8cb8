"""What was run before: one SQLite file that keeps progress, so that a stopped exploration goes on,
and verdicts, so that what flips can be told from what was never deterministic.
"""
