"""What is under test: the ports it is reached through, bindings, the registry, shipped subjects.

    ports/          how a subject of each role meets the world: what it is given, and may return
    binding, bind_*     the decorators that make a subject of a function or a class
    adopt*, candidates, locate, reading     a target as it is, without a decorator
    registry, shipped*      the subjects that come with Faultclock, by name
    stud, provider_words, retry_after       policies that clients and references share, without I/O
    clients/        real clients, one file each

The room `agents` has the references, and `mutants` makes wrong subjects of them.

Subjects never import the world or the judgement; each runtime is imported by one adapter file.
"""
