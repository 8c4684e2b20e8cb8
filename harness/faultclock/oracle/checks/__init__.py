"""The checks, by what they are about. Each is a function of a history and an error model.

    failures/   what becomes of a failure: its record, its outcome, and who learns of it
    provider/   what a client makes of answers, and how it asks again: backoff, jitter, breakers
    roles/      a tool, a session store or an extension under test
    agent/      turns, tools, approvals, cancels, sessions, extensions of an agent
    run/        whether a run shows anything at all, and whether it comes to an end
    rules/      checks that are ordering rules: the model's own, and the rows that all models have

A new check goes into the file that judges its nearest kin, and `judge` lists its module.
"""
