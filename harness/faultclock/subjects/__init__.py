"""What is under test: the ports it is reached through, bindings, the registry, shipped subjects.

Start at `ports` (what a subject of each role is given and may return), then `binding` and the
`bind_` modules (the decorators), then `reference`: a correct adapter that reads as documentation of
the error model. `reference_runtime`, `reference_tool`, `reference_store` and `reference_extension`
are the same for the other roles. The room `mutants` makes wrong subjects of them.

Subjects never import the world or the judgement; each runtime is imported by one adapter file.
"""
