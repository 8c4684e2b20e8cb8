"""What pages show and no test executes, and why. Each entry has to be needed.

Nothing else is left out: `tests/docs/test_pages.py` counts.
"""

from __future__ import annotations

_NODE = "needs Node and a package of npm; tests/cli/test_check_node.py runs it where they are"
_TWO_ENVIRONMENTS = "stands for two environments, of which a test has one"

#: (page, the command as it stands there): why it is not run. Its options are checked all the same.
NOT_RUN: dict[tuple[str, str], str] = {
    ("docs/cassettes.md", "faultclock record -o incidents -- python agent.py"): (
        "asks the real provider; the same command runs below, against a served one"
    ),
    (
        "docs/census.md",
        "faultclock census -o reports   # census.json, census.html and a page for each client; "
        "minutes",
    ): "runs every client that is installed through 107 scenarios; a smaller one runs below",
    (
        "docs/census.md",
        "faultclock census --env old=old/bin/python --env new=new/bin/python cohere "
        "--json both.json",
    ): _TWO_ENVIRONMENTS,
    (
        "docs/census.md",
        "faultclock census --env py=.venv/bin/python --env node=web openai-async openai-node "
        "-o reports",
    ): _TWO_ENVIRONMENTS,
    (
        "docs/drift.md",
        "faultclock census --env old=old/bin/python cohere cohere-sync --json old.json",
    ): _TWO_ENVIRONMENTS,
    (
        "docs/drift.md",
        "faultclock census --env new=new/bin/python cohere cohere-sync --json new.json",
    ): _TWO_ENVIRONMENTS,
    ("docs/drift.md", "faultclock drift old.json new.json --html drift.html"): _TWO_ENVIRONMENTS,
    ("docs/dialects.md", "python -m tests.fakes.dialects.truth"): (
        "takes half a minute; tests/fakes/dialects/test_truth_table.py judges the same table"
    ),
    (
        "docs/runtimes.md",
        "faultclock run resume-drift/crash-after-each-event --subject reference-runtime",
    ): "132 runs, which tests/scenarios/test_conformance.py makes; one of them runs below",
    ("docs/node.md", "faultclock check app.mjs"): _NODE,
    ("docs/node.md", "faultclock check agent.mjs"): _NODE,
    ("docs/node.md", "faultclock doctor runtime.mjs"): _NODE,
    (
        "docs/node.md",
        "faultclock run 'approvals/*deni*' 'tools/sub*' --subject runtime.mjs",
    ): _NODE,
    (
        "docs/explore.md",
        "faultclock explore common --subject my_agent.py:agent --runs 100000 --history all.sqlite",
    ): "takes half an hour; tests/cli/test_explore.py does the same with fewer runs",
    (
        "docs/explore.md",
        "faultclock explore common --subject my_agent.py:agent --runs 100000 "
        "--history all.sqlite \\\n    --resume",
    ): "goes on with the one before it",
}

#: (page, language of the blocks): the test that checks these pieces of a file.
FRAGMENTS: dict[tuple[str, str], str] = {
    ("docs/agents.md", "py"): "tests/subjects/test_agents_page.py",
    ("docs/dialects.md", "yaml"): "tests/architecture/test_dialects_page.py",
    ("docs/dialects.md", "yml"): "tests/architecture/test_dialects_page.py",
    ("docs/ordering.md", "yml"): "tests/oracle/test_ordering_page.py",
}
