"""Judgement: pure functions from an error model and a finished trace to findings.

    attempts    the calls of a trace and their attempts, built once
    requests    the attempts of a call, by the answer that they are for
    signals     what a subject can see of a failure, and which rule of the model it meets
    retry_hints every wire form of Retry-After, and what else says when to ask again
    redo        what must follow a try, what followed, and whether a wait lies in its interval
    predict     the model folded over the attempts: what had to happen next, and when
    plans       the same over whole runs: chains, redoes of nodes, breakers
    rules       the ordering rules: property patterns over events, all in one pass
    check       what a check is: it returns an Outcome
    judge       all checks, and the verdicts that they come to

For whole turns (`turn_checks` gathers their checks):

    turn_facts  lives, the model's tool calls and their executions
    port_facts  requests to the person, operations of the store, attempts of stages
    stops       what ends the work of a call from outside, so that nothing more was due
    tool_fates  what became of a tool call, and of each execution
    tool_messages results of tool calls, as the model reads them
    permissions what allows a gated call to run
    stored_state what lay in the store when a life began

For session stores (`store_role` has their checks):

    store_registers what is known of each thing that a store keeps
    store_answers what each call shows, beside that

and one file for each group of checks: classification, backoff, jitter, ordering, wrapping,
swallow, audience, liveness, evidence. No clock, no file, no import of the world or of a subject: a
trace that was recorded elsewhere is judged in the same way. No check knows an error model by name.
"""
