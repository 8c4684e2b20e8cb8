"""A target that is a module for Node: what it is taken for, and what is said of a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.adopt import Adopted, adopt
from faultclock.subjects.node.locate import locate_export
from tests.node.modules import folder_with, needs_node, needs_packages

pytestmark = needs_node

ASK = "export async function ask(prompt) { return prompt; }"
BROKEN: dict[str, tuple[str, str, str]] = {
    "a syntax error": (
        "export const a = 1;\nconst x = ;",
        "app.mjs:2: SyntaxError: ",
        "node app.mjs",
    ),
    "a missing package": (
        "import x from 'no-such-sdk';",
        "app.mjs: it imports 'no-such-sdk', which is not installed",
        "npm install no-such-sdk",
    ),
    "no export": ("const a = 1;", "app.mjs: it exports nothing that can be asked", "write `export"),
    "an agent that is not exported": (
        "function look(city) {} const x = 1;\nclass Agent {}\nconst helper = new Agent({});",
        "app.mjs: it exports nothing that can be asked",
        "write `export { helper };` at its end, and name app.mjs#helper",
    ),
    "a graph that is not exported": (
        "class Graph { node() { return this; } compile() { return this; } }\n"
        "const app = new Graph()\n  .node('a')\n  .compile();",
        "app.mjs: it exports nothing that can be asked",
        "write `export { app };` at its end",
    ),
    "an agent that is asked at once": (
        "class Agent {}\nconst helper = new Agent({});\n"
        "await fetch('https://api.openai.com/v1/models');",
        "app.mjs: it asks api.openai.com while it is loaded",
        "put that into a function; write `export { helper };` at its end",
    ),
    "several": (
        f"{ASK} export const tell = async text => text;",
        "app.mjs: it exports 2 things that can be asked",
        "name app.mjs#ask or app.mjs#tell",
    ),
    "an error": ("\nnull.x;", "app.mjs:2: loading it raised TypeError: ", "node app.mjs"),
    "a request": (
        "await fetch('https://api.openai.com/v1/models');",
        "app.mjs: it asks api.openai.com while it is loaded",
        "put that into a function",
    ),
    "a file": (
        "import fs from 'node:fs'; fs.mkdirSync('x');",
        "app.mjs: it uses fs.mkdirSync while it is loaded",
        "put that into a function",
    ),
    "no end": (
        "await new Promise(() => {});",
        "app.mjs: it cannot be loaded: a top-level await never ends",
        "node app.mjs",
    ),
    "its end": (
        "process.exit(2);",
        "app.mjs:1: it cannot be loaded: process.exit(2)",
        "node app.mjs",
    ),
}


def adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str = "") -> Adopted:
    """Return what a target in the folder is taken for."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.chdir(folder_with(tmp_path, app=text))
    return adopt(f"app.mjs{name}")


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_a_module_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """It names the file, the line where there is one, and what to do."""
    text, message, hint = BROKEN[case]
    with pytest.raises(SubjectError) as caught:
        adopted(tmp_path, monkeypatch, text)
    assert caught.value.message.startswith(message)
    assert hint in (caught.value.hint or "")


def test_a_node_that_is_missing_or_too_old_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is a fault of the module."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SubjectError, match="there is no Node here"):
        adopted(tmp_path, monkeypatch, ASK)
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v14.2.0\n")
    old.chmod(0o755)
    with pytest.raises(SubjectError, match=r"Node here is v14.2.0, which is too old"):
        adopted(tmp_path, monkeypatch, ASK)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ("prompt", "an async function of a prompt"),
        ("text, options", "an async function of a prompt"),
        ("messages", "an async function of messages"),
        ("{ prompt, model = 'x' }", "an async function of a prompt"),
        ("", "an async function that takes nothing"),
        ("request", "an async function of a ProviderRequest"),
        ("userInput = 'hi, you', ...rest", "an async function that takes nothing"),
    ],
)
def test_parameters_say_what_a_function_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: str, kind: str
) -> None:
    """They are read as those of Python are; what is not understood may be left out."""
    text = f"export async function ask({parameters}) {{ return 'x'; }}"
    found = adopted(tmp_path, monkeypatch, text)
    assert found.taken_for.kind == kind
    assert found.spec == "app.mjs"
    assert found.binding.id == "app:ask"


def test_one_of_several_exports_is_named_after_a_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line, the digest of the file and the step of Node's timers belong to the binding."""
    text = f"// A comment.\n{ASK}\nexport const tell = async text => text;\n"
    found = adopted(tmp_path, monkeypatch, text, "#tell")
    assert found.binding.id == "app:tell"
    assert found.binding.source is not None
    assert (found.binding.source.file, found.binding.source.line) == ("app.mjs", 3)
    assert found.binding.timer_granularity_ns == 1_000_000
    assert set(found.binding.info().distributions) == {"node"}
    with pytest.raises(SubjectError, match="it exports no 'say' that can be asked"):
        adopt("app.mjs#say")


@needs_packages
@pytest.mark.parametrize(
    ("module", "name", "dialect"),
    [
        ("import C from 'openai'; export const client = new C();", "OpenAI", "openai-chat"),
        (
            "import C from '@anthropic-ai/sdk'; export const client = new C();",
            "Anthropic",
            "anthropic-messages",
        ),
        (
            "import { Mistral as C } from '@mistralai/mistralai'; export default new C();",
            "Mistral",
            "mistral",
        ),
    ],
)
def test_a_client_object_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, dialect: str
) -> None:
    """It is asked as its library wants it."""
    found = adopted(tmp_path, monkeypatch, module)
    assert f"({name})" in found.taken_for.kind
    assert found.binding.dialect == dialect


def test_members_of_a_commonjs_module_have_their_own_names(tmp_path: Path) -> None:
    """`module.exports = { ask }` exports `ask`."""
    (tmp_path / "app.cjs").write_text("module.exports = { ask: async prompt => prompt, N: 1 };")
    assert locate_export(str(tmp_path / "app.cjs")).name == "ask"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "export function makeTeam() { return new Map(); }",
            "app.mjs#makeTeam returns an object of the class Map, and no agent of a framework",
            "if it asks a model itself, name app.mjs#makeTeam@nothing",
        ),
        (
            "export async function makeAgent() {\n  null.tools;\n}",
            "app.mjs:2: making the agent with makeAgent raised TypeError",
            "try it by itself",
        ),
        (
            "export const buildAgent = async () => { await fetch('https://a.example'); };",
            "app.mjs: it asks a.example while buildAgent makes the agent",
            "leave that to the first turn",
        ),
    ],
)
def test_a_function_that_makes_no_agent_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str, hint: str
) -> None:
    """It is known by its name and called once, to see what it makes."""
    with pytest.raises(SubjectError) as caught:
        adopted(tmp_path, monkeypatch, text)
    assert caught.value.message.startswith(message)
    assert hint in (caught.value.hint or "")
    assert adopt("app.mjs@nothing").taken_for.kind.endswith("function that takes nothing")
