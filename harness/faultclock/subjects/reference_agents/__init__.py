"""Reference runtimes of the models beside stud-cli, which has `reference_runtime`.

wire      one request to a provider
calls     one tool call that the model proposes, and what became of it
person    asking the person
turn      what a turn has used up, a failed attempt, and how a turn ends
moments   the steps in which a model says what happens
services  hooks, telemetry, and the record of failures
core      a turn: the conversation with the model, with a step for every decision
bound     how a runtime of a model is bound as its reference

Each model has a module of its own that fills in those steps. What the models agree on is in
`core`; how often something is done again, and after what wait, is each model's own arithmetic.
"""
