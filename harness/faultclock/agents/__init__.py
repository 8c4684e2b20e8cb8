"""The references: for each role and each document, a small subject that is right by it.

The core that the runtimes share:

turn      a turn: what it has used up, how it goes, how it ends, and what is said on the way
core      a chain of providers, limits and tools, with a step for every decision
calls     one tool call that the model proposes, what became of it, and asking the person
wire      the shapes of a provider's API: a request, an answer, the result of a tool
waits     how long something waits before it is done again
breaker   a circuit breaker

What any of them asks over: `exchange`, one HTTP exchange without I/O; `chat_exchange` and
`json_exchange`, what its answer is; `connection`, which carries it.

A model has one file that fills in the steps of the core: `afk`, `kode`, `matrix`, `relavium`. What
its document calls a failure, and what else is a table, lies beside it: `kode_records`,
`matrix_errors`, `relavium_run`; the programs of a stage are `matrix_programs`. stud-cli's is the
room `stud_cli`. The other roles are `adapter`, `adapter_common`, `tool`, `extension` and `store`.
Nothing here imports the oracle.
"""
