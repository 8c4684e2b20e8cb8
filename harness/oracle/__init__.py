"""Judgement: pure functions from an error model and a finished trace to findings.

    attempts    the calls of a trace and their attempts, built once
    signals     what a subject can see of a failure, and which rule of the model it meets
    retry_after every wire form of that header
    predict     the model folded over the attempts: what had to happen next, and when
    patterns    property patterns over events
    check       what a check is: it returns an Outcome
    judge       all checks, and the verdicts that they come to

and one file for each group of checks: classification, backoff, jitter, ordering, wrapping,
swallow, audience, evidence. No clock, no file, no import of the world or of a subject: a trace
that was recorded elsewhere is judged in the same way. No check knows an error model by name.
"""
