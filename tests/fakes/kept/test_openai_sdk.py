"""What the responses API keeps, as the official openai SDK gets it, async and blocking."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import openai
import pytest
from openai.types.conversations import ConversationItemList
from openai.types.responses import Response, ResponseItemList

from faultclock.fakes.provider.provider import ProviderState
from tests.fakes.dialects.driver import unknown_members
from tests.fakes.kept.sdk_world import MODEL, REPLIES, TOOLS, Way, played

WAYS = pytest.mark.parametrize("way", ["async", "sync"])


async def slept(way: Way, seconds: float) -> None:
    """Wait in the simulated world."""
    if way == "async":
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)


def outputs(response: Any) -> list[dict[str, Any]]:
    """Return an answer to each tool that a response asks for."""
    return [
        {"type": "function_call_output", "call_id": item.call_id, "output": "rain"}
        for item in response.output
        if item.type == "function_call"
    ]


@WAYS
@pytest.mark.parametrize("stream", [False, True])
def test_a_response_goes_on_from_the_one_before(way: Way, stream: bool) -> None:
    """The answer of a tool finds its call in what the provider has kept."""

    async def create(client: Any, **asked: Any) -> Any:
        if not stream:
            return await client.responses.create(model=MODEL, **asked)
        events = [
            event
            async for event in await client.responses.create(model=MODEL, stream=True, **asked)
        ]
        return events[-1].response

    async def steps(client: Any) -> Any:
        first = await create(client, input="How is Bern?", tools=TOOLS)
        return first, await create(client, previous_response_id=first.id, input=outputs(first))

    first, second = played(steps, way, replies=REPLIES)
    assert [item.type for item in first.output] == ["function_call"]
    assert (second.output_text, second.previous_response_id) == ("It rains in Bern.", first.id)
    assert not unknown_members([first, second])


@WAYS
def test_a_conversation_holds_what_was_said(way: Way) -> None:
    """Its items are those of the requests and of the answers, in their order."""

    async def steps(client: Any) -> Any:
        conversation = await client.conversations.create(
            items=[{"role": "developer", "content": "Be brief."}], metadata={"of": "me"}
        )
        asked = {"model": MODEL, "conversation": conversation.id}
        first = await client.responses.create(input="How is Bern?", tools=TOOLS, **asked)
        second = await client.responses.create(input=outputs(first), **asked)
        listed = await client.conversations.items.list(conversation.id, order="asc", limit=3)
        latest = await client.conversations.items.list(conversation.id, limit=1)
        one = await client.conversations.items.retrieve(
            listed.data[0].id, conversation_id=conversation.id
        )
        return second, listed, latest, one, await client.conversations.retrieve(conversation.id)

    second, listed, latest, one, conversation = played(steps, way, replies=REPLIES)
    assert second.output_text == "It rains in Bern."
    assert second.conversation.id == conversation.id
    assert [item.type for item in listed.data] == ["message", "message", "function_call"]
    assert (listed.has_more, one) == (True, listed.data[0])
    assert latest.data[0].content[0].text == "It rains in Bern."
    assert conversation.metadata == {"of": "me"}
    told = ConversationItemList.model_validate_json(
        listed.model_dump_json(by_alias=True), strict=True
    )
    assert not unknown_members([second, told, conversation])


@WAYS
def test_a_conversation_is_changed_and_deleted(way: Way) -> None:
    """Its items as well; after that it is not found."""

    async def steps(client: Any) -> Any:
        conversation = await client.conversations.create()
        id_ = conversation.id
        changed = await client.conversations.update(id_, metadata={"of": "you"})
        added = await client.conversations.items.create(
            id_, items=[{"role": "user", "content": "Hi."}, {"role": "user", "content": "Ho."}]
        )
        left = await client.conversations.items.delete(added.data[0].id, conversation_id=id_)
        items = await client.conversations.items.list(id_)
        gone = await client.conversations.delete(id_)
        with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{id_}' not found"):
            await client.responses.create(model=MODEL, conversation=id_, input="Hi.")
        return changed, left, items, gone

    changed, left, items, gone = played(steps, way)
    assert changed.metadata == {"of": "you"}
    assert (left.id, [item.content[0].text for item in items.data]) == (changed.id, ["Ho."])
    assert gone.deleted


@WAYS
def test_a_response_in_the_background_is_polled(way: Way) -> None:
    """It is queued, works, and is completed."""

    async def steps(client: Any) -> Any:
        seen = [await client.responses.create(model=MODEL, input="Hi.", background=True)]
        while seen[-1].status in ("queued", "in_progress"):
            await slept(way, 2)
            seen.append(await client.responses.retrieve(seen[0].id))
        return seen, await client.responses.cancel(seen[0].id)

    seen, cancelled = played(steps, way, reply="Here I am.")
    assert [response.status for response in seen] == ["queued", "in_progress", "completed"]
    assert [response.output_text for response in seen] == ["", "", "Here I am."]
    assert cancelled.status == "completed"
    for response in seen:
        Response.model_validate_json(response.model_dump_json(by_alias=True), strict=True)
    assert not unknown_members(seen)


@WAYS
def test_a_response_in_the_background_is_cancelled(way: Way) -> None:
    """Which stays so, and one that was waited for cannot be."""

    async def steps(client: Any) -> Any:
        begun = await client.responses.create(model=MODEL, input="Hi.", background=True)
        cancelled = await client.responses.cancel(begun.id)
        await slept(way, 20)
        later = await client.responses.retrieve(begun.id)
        waited = await client.responses.create(model=MODEL, input="Hi.")
        with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
            await client.responses.cancel(waited.id)
        return cancelled, later

    cancelled, later = played(steps, way)
    assert (cancelled.status, later.status, later.output) == ("cancelled", "cancelled", [])


@WAYS
def test_a_stream_in_the_background_goes_on_where_it_was_cut(way: Way) -> None:
    """With the event behind the last one that came."""

    async def steps(client: Any) -> Any:
        seen = []
        try:
            async for event in await client.responses.create(
                model=MODEL, input="Hi.", background=True, stream=True
            ):
                seen.append(event)
        except Exception as error:  # of its HTTP library
            seen.append(error)
        *cut, error = seen
        rest = await client.responses.retrieve(
            cut[0].response.id, stream=True, starting_after=cut[-1].sequence_number
        )
        return cut, error, [event async for event in rest]

    fault = {
        "id": "cut",
        "when": {"task": "ask", "attempts": 1},
        "then": {"kind": "truncate", "after_chunks": 3, "how": "reset"},
    }
    cut, error, rest = played(steps, way, reply="One two three.", faults=[fault])
    assert isinstance(error, Exception)
    assert [event.type for event in cut[:3]] == [
        "response.created",
        "response.queued",
        "response.in_progress",
    ]
    assert [event.sequence_number for event in [*cut, *rest]] == list(range(len(cut) + len(rest)))
    assert rest[-1].response.output_text == "One two three."
    assert not unknown_members([*cut, *rest])


@WAYS
def test_tokens_are_counted_before_they_are_asked(way: Way) -> None:
    """With what the request goes on from, and as the answer's usage has them."""

    async def steps(client: Any) -> Any:
        asked = {"model": MODEL, "input": "How is Bern?", "instructions": "Be brief."}
        first = await client.responses.input_tokens.count(**asked)
        answer = await client.responses.create(**asked)
        more = {**asked, "input": "And now?", "previous_response_id": answer.id}
        return first, answer, await client.responses.input_tokens.count(**more)

    first, answer, more = played(steps, way, reply="It rains.")
    assert first.input_tokens == answer.usage.input_tokens
    assert more.input_tokens > first.input_tokens


@WAYS
def test_what_was_asked_is_listed_and_deleted(way: Way) -> None:
    """A response that is deleted is not found, and nothing goes on from it."""

    async def steps(client: Any) -> Any:
        first = await client.responses.create(model=MODEL, input="Hi.")
        items = await client.responses.input_items.list(first.id)
        await client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError, match="Response with id"):
            await client.responses.retrieve(first.id)
        asked = {"model": MODEL, "input": "And?"}
        with pytest.raises(openai.BadRequestError, match="Previous response with id") as found:
            await client.responses.create(previous_response_id=first.id, **asked)
        with pytest.raises(openai.BadRequestError, match="Mutually exclusive"):
            await client.responses.create(previous_response_id="r", conversation="c", **asked)
        return items, found.value

    items, error = played(steps, way)
    assert items.data[0].content[0].text == "Hi."
    assert error.code == "previous_response_not_found"
    assert ResponseItemList.model_validate_json(items.model_dump_json(by_alias=True), strict=True)


@WAYS
def test_a_response_that_is_not_stored_is_not_found(way: Way) -> None:
    """Neither is one whose request was refused."""

    async def steps(client: Any) -> Any:
        first = await client.responses.create(model=MODEL, input="Hi.", store=False)
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model=MODEL, previous_response_id=first.id, input="Ho.")

    state = ProviderState()
    played(steps, way, state)
    assert state.kept == {}


@WAYS
def test_an_item_can_be_named_in_place_of_being_sent_again(way: Way) -> None:
    """Where the provider has it."""

    async def steps(client: Any) -> Any:
        first = await client.responses.create(model=MODEL, input="How is Bern?", tools=TOOLS)
        named = {"type": "item_reference", "id": first.output[0].id}
        with pytest.raises(openai.NotFoundError, match="Item with id 'fc_no' not found"):
            await client.responses.create(model=MODEL, input=[{**named, "id": "fc_no"}])
        user = {"role": "user", "content": "How is Bern?"}
        return await client.responses.create(model=MODEL, input=[user, named, *outputs(first)])

    assert played(steps, way, replies=REPLIES).output_text == "It rains in Bern."


def test_what_is_kept_outlives_the_one_who_asked() -> None:
    """It is plain data, and belongs to the provider."""
    state = ProviderState()

    async def begin(client: Any) -> Any:
        return await client.responses.create(model=MODEL, input="How is Bern?", tools=TOOLS)

    first = played(begin, "async", state, replies=REPLIES)
    assert json.loads(json.dumps(state.kept[first.id]["input"]))

    async def go_on(client: Any) -> Any:
        return await client.responses.create(
            model=MODEL, previous_response_id=first.id, input=outputs(first)
        )

    assert played(go_on, "sync", state, replies=REPLIES).output_text == "It rains in Bern."


def test_a_failed_answer_leaves_nothing_behind() -> None:
    """A conversation has only what was completed."""

    async def steps(client: Any) -> Any:
        conversation = await client.conversations.create()
        with pytest.raises(openai.InternalServerError):
            await client.responses.create(model=MODEL, conversation=conversation.id, input="Hi.")
        return await client.conversations.items.list(conversation.id)

    fault = {
        "id": "fails",
        "when": {"task": "ask", "attempts": 2},
        "then": {"kind": "http_error", "status": 500, "error": "server_error"},
    }
    assert played(steps, "async", faults=[fault]).data == []
