"""What is under test: the ports it is reached through, bindings, the registry, shipped subjects.

Start at `ports` (what an adapter is given and may return), then `binding` (the decorator), then
`reference`: a correct adapter that reads as documentation of the error model.

Subjects never import the world or the judgement; each runtime is imported by one adapter file.
"""
