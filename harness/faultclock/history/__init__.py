"""What was run before: one SQLite file that keeps progress, so that a stopped exploration goes on,
and verdicts, so that a flip is distinguished from what was never deterministic.

`schema` has the tables, and the steps that bring an older file to them; `file` opens it, and says
in a sentence why it cannot be used. `store` begins and resumes sessions, and a `session` is the
ledger of an exploration: each batch is one transaction. `rows`, `names`, `scenarios` and `packing`
are how runs lie in the file.

`reading` asks all questions at once: `determinism`, `flaky` and `flips`, over what `queries` has in
common; `findings` is what they answer with, `differences` what changed between two sessions.
"""
