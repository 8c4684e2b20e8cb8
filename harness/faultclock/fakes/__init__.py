"""The other side of every wire and port: fakes with typed faults, each with a ledger of its own.

The provider speaks real bytes. Start at `provider` (mounting and the ledger), then `injector`
(which fault fires), `delivery` (what a fault does to an answer) and `openai_chat` (what an answer
looks like). A new provider is a new file beside `openai_chat` that fills the protocol in `dialect`.

What a runtime is given are objects:

    tools          executions, effects on the world, replies;  tool_plan  which of them, purely
    interactors    a person at a user interface
    store          the session store;  stored_session  what of it is durable
    state_machine  stages, as the script has them;  extensions  four phases and a slot
    services       hooks, a telemetry sink, a queue;  uses  how one use of them goes
    workflow       expressions and handlers of a workflow
    policy         allows or denies a call of a tool;  archive  keeps files
    port, rules    what all of them have in common: facts, waits, and rules that are met or not

`providers` puts several providers into one world, each at a host of its own; `programs` are
what a subject may start, as it would start real ones.

A fake lives for one life of the subject. What outlives it is its State, plain data.

Fakes know the scenario's script and never an error model, so they cannot agree with the oracle
by construction.
"""
