"""What a target is: everything that a person may name, and what is said about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from faultclock.errors import SubjectError, UnknownNameError
from faultclock.subjects.adopt import Adopted, adopt
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.registry import load_subject

FILE = '''
import asyncio
import functools

import openai

from faultclock import provider_adapter, tool

client = openai.AsyncOpenAI(api_key="k", base_url="https://mine.example.com/v1", max_retries=7)
blocking = openai.OpenAI(api_key="k")
azure = openai.AzureOpenAI(api_key="k", azure_endpoint="https://a.example.com", api_version="1")


def ask(prompt):
    """Ask the model once."""
    return f"said: {prompt}"


async def chat(messages):
    return f"said: {messages[0]['content']}"


def main():
    print("done")


async def pieces(prompt):
    for piece in ("a", "b", "c"):
        yield piece


def lines(prompt):
    yield "a"
    yield "b"


def gives_pieces(prompt):
    return iter(["a", "b"])


def gives_coroutine(prompt):
    return chat([{"content": prompt}])


def gives_async_pieces(prompt):
    return pieces(prompt)


def adapter(request):
    return request.model


@provider_adapter
def bound(request):
    return "bound"


part = functools.partial(lambda client, prompt: prompt, None)


class Bot:
    def __init__(self):
        self.word = "bot"

    def ask(self, prompt):
        return f"{self.word}: {prompt}"

    @staticmethod
    def plain(prompt):
        return f"static: {prompt}"

    @classmethod
    def made(cls, prompt):
        return f"{cls.__name__}: {prompt}"


class Callable_:
    def __call__(self, prompt):
        return f"called: {prompt}"


class AsyncCallable:
    async def __call__(self, prompt):
        return f"called: {prompt}"


class Needs:
    def __init__(self, key):
        self.key = key

    def ask(self, prompt):
        return prompt


class Breaks:
    def __init__(self):
        raise RuntimeError("no key")


bot = Bot()
called = Callable_()
async_called = AsyncCallable()
nothing = None
number = 7


class _Completions:
    async def create(self, **given):
        return {"choices": [{"message": {"content": given["messages"][0]["content"]}}]}


class _Chat:
    completions = _Completions()


class Alike:
    chat = _Chat()


alike = Alike()
'''


class Host:
    """A host that keeps what is delivered."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def delivered(self, text: str) -> None:
        """Keep a piece."""
        self.pieces.append(text)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a person who knows nothing of Faultclock."""
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return path


def request(host: Any = None, *, stream: bool = False) -> ProviderRequest:
    """Return what a call is given."""
    given: Any = host or Host()
    messages = [{"role": "user", "content": "Say hello."}]
    return ProviderRequest(host=given, messages=messages, stream=stream)


def answer(adopted: Adopted, host: Any = None) -> Any:
    """Call the target once."""
    if adopted.binding.style == "async":
        return asyncio.run(adopted.binding.invoke_async(request(host)))
    return adopted.binding.invoke_sync(request(host))


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("ask", "a blocking function of a prompt", "said: Say hello."),
        ("chat", "an async function of messages", "said: Say hello."),
        ("main", "a blocking function that takes nothing", None),
        ("adapter", "a blocking function of a ProviderRequest", "gpt-4o-mini"),
        ("bound", "a provider adapter (mine:bound)", "bound"),
        ("part", "a blocking function of a prompt", "Say hello."),
        ("bot.ask", "a blocking function of a prompt", "bot: Say hello."),
        ("Bot.ask", "a blocking function of a prompt", "bot: Say hello."),
        ("Bot.plain", "a blocking function of a prompt", "static: Say hello."),
        ("Bot.made", "a blocking function of a prompt", "Bot: Say hello."),
        ("called", "a blocking function of a prompt", "called: Say hello."),
        ("async_called", "an async function of a prompt", "called: Say hello."),
        ("Callable_", "a blocking function of a prompt", "called: Say hello."),
        ("alike", "an async client object (Alike)", Reply("Say hello.")),
        ("gives_coroutine", "a blocking function of a prompt", "said: Say hello."),
    ],
)
def test_what_a_target_is_and_what_it_answers(
    file: Path, name: str, kind: str, says: str | None
) -> None:
    """It is called as it wants to be, whatever it is."""
    adopted = adopt(f"mine.py:{name}")
    assert (adopted.taken_for.kind, answer(adopted)) == (kind, says)
    assert adopted.taken_for.target == adopted.spec == f"mine.py:{name}"
    assert adopted.taken_for.because
    assert adopted.taken_for.otherwise


@pytest.mark.parametrize(
    ("name", "kind", "pieces"),
    [
        ("pieces", "an async generator function of a prompt", ["a", "b", "c"]),
        ("lines", "a blocking generator function of a prompt", ["a", "b"]),
        ("gives_pieces", "a blocking function of a prompt", ["a", "b"]),
        ("gives_async_pieces", "a blocking function of a prompt", ["a", "b", "c"]),
    ],
)
def test_pieces_are_joined_and_reported_as_they_are_delivered(
    file: Path, name: str, kind: str, pieces: list[str]
) -> None:
    """From the first one on, an answer cannot be taken back."""
    host = Host()
    adopted = adopt(f"mine.py:{name}")
    assert answer(adopted, host) == Reply("".join(pieces))
    assert (adopted.taken_for.kind, host.pieces) == (kind, pieces)


@pytest.mark.parametrize(
    ("name", "kind", "dialect", "known"),
    [
        ("client", "an async client object (openai.AsyncOpenAI)", "openai-chat", False),
        ("blocking", "a blocking client object (openai.OpenAI)", "openai-chat", False),
        ("azure", "a blocking client object (openai.AzureOpenAI)", "azure-openai", True),
    ],
)
def test_a_client_object_is_known_by_its_class(
    file: Path, name: str, kind: str, dialect: str, known: bool
) -> None:
    """Where the class does not say which API it speaks, a run has to show it."""
    adopted = adopt(f"mine.py:{name}")
    assert adopted.taken_for.kind == kind
    assert (adopted.binding.dialect, adopted.binding.dialect_known) == (dialect, known)
    assert adopted.taken_for.dialect == (dialect if known else "")


def test_a_client_object_is_used_as_it_is(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address, its retries and its deadline are the person's: no other client is made."""
    adopted = adopt("mine.py:client")
    asked: list[Any] = []

    async def create(self: Any, **given: Any) -> Any:
        asked.append(self._client)
        return {"choices": [{"message": {"content": "Hi"}}]}

    monkeypatch.setattr(openai.resources.chat.AsyncCompletions, "create", create)
    assert answer(adopted) == Reply("Hi")
    (used,) = asked
    assert (str(used.base_url), used.max_retries) == ("https://mine.example.com/v1/", 7)


def test_a_client_that_answers_whole_where_a_stream_is_asked_for_is_read(file: Path) -> None:
    """One that is only like OpenAI's may know no streams."""
    binding = adopt("mine.py:alike").binding
    streamed = asyncio.run(binding.invoke_async(request(stream=True)))
    assert streamed == Reply("Say hello.")


def test_what_is_said_after_the_name_counts_in_every_command(file: Path) -> None:
    """The words that a person says are part of the target, so a command that repeats it works."""
    said = adopt("mine.py:ask", as_="messages", dialect="ollama")
    assert said.spec == "mine.py:ask@messages,ollama"
    again = load_subject(said.spec)
    assert (again.dialect, again.dialect_known) == ("ollama", True)
    assert "Say hello." in again.invoke_sync(request())
    assert said.taken_for.because == "it was said on the command line"


def test_an_at_sign_in_a_folder_says_nothing(file: Path) -> None:
    """Only what stands after the name does."""
    folder = file.parent / "me@home"
    folder.mkdir()
    (folder / "mine.py").write_text(FILE)
    assert adopt(f"{folder}/mine.py:ask").taken_for.kind == "a blocking function of a prompt"


def test_a_target_has_its_place_and_its_digest(file: Path) -> None:
    """Reports name the line, and a certificate the bytes."""
    binding = adopt("mine.py:bot.ask").binding
    assert binding.id == "mine:bot.ask"
    assert binding.source_digest is not None
    assert binding.source is not None
    assert binding.source.file == "mine.py"
    assert FILE.splitlines()[binding.source.line - 1].startswith("bot = ")


def test_a_shipped_subject_is_used_as_it_is() -> None:
    """Of any role."""
    assert adopt("reference").taken_for.because == "it comes with Faultclock"
    assert adopt("reference-tool").taken_for.dialect == ""


def refused(spec: str, **said: Any) -> SubjectError:
    """Return the error for `spec`."""
    with pytest.raises(SubjectError) as raised:
        adopt(spec, **said)
    return raised.value


def test_a_class_that_needs_arguments_is_refused_with_what_to_write(file: Path) -> None:
    """Only its author knows them."""
    error = refused("mine.py:Needs")
    assert error.message == "mine.py:Needs: the class Needs needs arguments"
    assert error.hint == "write `subject = Needs(...)` in mine.py, and name mine.py:subject"
    assert "name mine.py:subject.ask" in str(refused("mine.py:Needs.ask").hint)


def test_a_class_that_a_file_imports_is_refused_with_what_it_defines(tmp_path: Path) -> None:
    """Nothing of it is the user's own."""
    file = tmp_path / "app.py"
    file.write_text("from string import Template\ndef ask(prompt): return Template(prompt)\n")
    error = refused(f"{file}:Template")
    assert error.message == f"{file}:Template: the class Template needs arguments"
    assert error.hint == f"write {file}:ask"


def test_a_class_whose_object_cannot_be_made_is_refused_with_its_line(file: Path) -> None:
    """Its own exception, at its own line."""
    line = FILE.splitlines().index('        raise RuntimeError("no key")') + 1
    error = refused("mine.py:Breaks")
    assert error.message == f"mine.py:{line}: making an object of it raised RuntimeError: no key"


def test_an_object_that_cannot_be_called_is_refused_with_its_likeliest_method(file: Path) -> None:
    """The one that is named like a question."""
    error = refused("mine.py:bot")
    assert error.message == "mine.py:bot: a Bot cannot be called"
    assert error.hint == "name one of its methods, such as mine.py:bot.ask"
    assert "def ask(prompt)" in str(refused("mine.py:number").hint)


def test_a_name_that_is_not_there_is_refused(file: Path) -> None:
    """Also a part of a dotted name, and a name whose value is None."""
    assert "there is no 'bot.run' in it" in refused("mine.py:bot.run").message
    assert refused("mine.py:nothing").message == "mine.py: 'nothing' in it is None"


def test_what_is_bound_cannot_be_taken_for_something_else(file: Path) -> None:
    """Its decorator has said what it is."""
    assert "bound already, as a provider adapter" in refused("mine.py:bound", as_="prompt").message
    assert refused("reference", as_="prompt").hint == "leave out --as"


def test_an_unknown_kind_of_target_is_refused_with_those_that_there_are(file: Path) -> None:
    """A typo is told as one."""
    with pytest.raises(UnknownNameError, match="messages"):
        adopt("mine.py:ask", as_="mesages")


def test_what_is_no_client_cannot_be_taken_for_one(file: Path) -> None:
    """The hint says what to write instead."""
    error = refused("mine.py:bot", as_="client")
    assert "no client of a library" in error.message
    assert "def ask(prompt)" in str(error.hint)
