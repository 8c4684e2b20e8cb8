"""The references: for each role and each document, a small subject that is right by it.

The core that the runtimes share:

turn      a turn: what it has used up, how it goes, how it ends, and what is said on the way
core      a chain of providers, limits and tools, with a step for every decision
calls     one tool call that the model proposes, what became of it, and asking the person
wire      the shapes of a provider's API: a request, an answer, the result of a tool
waits     how long something waits before it is done again

A model has a module of its own that fills in those steps (`afk`, `kode`, `matrix`, `relavium`), and
one or more that hold its words and events beside it; stud-cli's is the room `stud_cli`. The other
roles are `adapter`, `adapter_common`, `tool`, `acting_tool`, `extension` and `store`, and what they
ask over is `connection`, `chat_exchange`, `json_exchange`. Nothing here imports the oracle.
"""
