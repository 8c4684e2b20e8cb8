"""Faultclock: deterministic simulation and conformance tests for error handling.

General layout. Three wings that never import each other meet in `run` and exchange only values
of `model`:

    model      what things are: Scenario, Fault, Trace, ErrorModel, RetryPolicy, Finding, Report
    load       text to model, with file:line:column in every error
    sim        World: virtual time, threads, network, entropy; knows nothing of LLMs
    fakes      World: the other side of every wire, with fault injection
    subjects   the code under test: ports, binding, registry, reference, miniatures, adapters
    oracle     Judgement: pure judge(error model, trace) -> findings
    run        the story in one place: execute, isolate, suite, replay
    render     Report to HTML, JSON, JUnit
    cli        parse, call, write files, exit code

Names that are not imported here are private.
"""

__all__: list[str] = []
__version__ = "0.1.0"
