"""The other side of every wire and port: fakes with typed faults, each with a ledger of its own.

    wire/       HTTP as providers speak it: requests in, answers out, faults in between
    sheets/     dialects from files: templates, paths, streams, and answers read back
    kept/       what an API keeps from one request to the next
    dialects/   one API a file, and functions for what is no template
    provider/   the fake provider: `provider` mounts it and keeps its ledger, `limits` and
                `pacing` say who is let in and how fast, `providers` puts several into one world
    port, rules, plain      what all objects have in common: facts, waits, rules, plain values
    ports/      what a runtime is given: tools, person, store, programs, workflow, services

The provider speaks real bytes. Start at `provider.provider`, then `wire.injector` (which fault
fires), `wire.delivery` (what a fault does to an answer) and `dialects/openai-chat.yaml`.

A fake lives for one life of the subject. What outlives it is its State, plain data. Fakes know the
scenario's script and never an error model, so they cannot agree with the oracle by construction.
"""
