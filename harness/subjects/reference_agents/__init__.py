"""Reference runtimes of the models beside stud-cli, which has `reference_runtime`.

wire      one request to a provider
calls     one tool call that the model proposes, and what became of it
person    asking the person
core      a turn: the conversation with the model, with a step for every decision

Each model has a module of its own that fills in those steps. What the models agree on is in
`core`; how often something is done again, and after what wait, is each model's own arithmetic.
"""
