"""Judgement: pure functions from an error model and a finished trace to findings.

Each line stands on those above it. Facts, which know no error model:

    signals, wall      what a subject can see of a failure; how exactly times may be taken
    wire, requests     the events of the network by attempt, and attempts by the answer they are for
    chain, stops       the errors that a call ended with; what stopped it from outside
    attempts           the calls of a trace
    turn_facts         lives, the model's tool calls, executions of tools
    port_facts         requests to the person, operations of the store, attempts of stages
    history            all of these: one trace, paired once

Folds of a history and an error model, each made once (`history.once`):

    redo, predict      what must follow a try and after which wait; the same for requests
    plans, providers   over chains, redoes and breakers: what had to happen, who may be asked
    tool_fates, tool_messages, permissions   what became of tool calls, and who allowed them
    uses               how turns stand to their limits
    failure, failure_sources, failures       all that failed, and what the model says of it
    store_registers, store_answers, stored_state   what a session store keeps
    derived            what rules may speak of beside the events of the trace
    rules, ordering    the ordering rules of the model, in one pass over events and derived events

Checks:

    check, words       what a check is: a function that yields verdicts; how findings quote
    rows               the checks that are ordering rules and no code
    one file for each group of checks, such as approvals, cancels, retries, limits, failure_outcome
    evidence           whether a run shows anything at all
    foreign            what the log of another system, or real time, can show
    judge, verdicts    all checks in their order, and the findings that they come to

No clock, no file, no import of the world or of a subject: a trace that was recorded elsewhere is
judged in the same way. No check knows an error model by name.
"""
