"""What things are: pure data and pure functions on it. Imports nothing of ours but `errors`.

    scenario/      what a scenario file may say, a module for each section
    trace/         what happened in a run: kinds of events, their fields, the trace of them
    error_model/   what an error model may say: signals, policies, rules, the ordering language
    report/        what a judgement comes to: findings, problems, reports, certificates, sessions
    tape, retry_policy, duration, secrets, …    values that several of them share

Start at `scenario.scenario` beside one file of `scenarios/`; then `scenario.fault`, `trace.trace`,
`error_model.error_model`, `retry_policy` and `report.finding`.
"""
