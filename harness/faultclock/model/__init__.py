"""What things are: pure data and pure functions on it. Imports nothing of ours but `errors`.

Start at `scenario` beside one file of `scenarios/`; then `fault`, `trace`, `error_model`,
`retry_policy` and `finding`.
"""
