"""Judgement: pure functions from an error model and a finished trace to findings.

Each room stands on those above it:

    wire/       signals, attempts and calls, as the provider observed them
    facts/      the trace paired once (`history`), and what is read from it without an error model
    check       what a check is: a function of a history and a model that yields verdicts
    words, leaks    how findings quote what was said; what a text must never show
    rules/      the engine of the ordering rules: all of them in one pass over the events
    retries/    a policy folded over what failed: what had to be tried again, and after which wait
    failures/   all that failed, and what the model says of each failure
    checks/     the checks, by what they are about: provider, agent, roles, failures, run, rules
    marks       waits and attempts as a report draws them
    verdicts, judge     all checks in their order, and the findings that they come to

A fold of a history and an error model is made once (`history.once`). No clock, no file, no import
of the world or of a subject: a trace that was recorded elsewhere is judged in the same way. No
check knows an error model by name.
"""
