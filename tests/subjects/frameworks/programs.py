"""Agents as their users write them, beyond a first page: each text is a file of a user's."""

from __future__ import annotations

LANGGRAPH = """
import sqlite3
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiosqlite
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call, wrap_tool_call
from langchain.chat_models import init_chat_model
from langchain.messages import ToolMessage
from langchain.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel


@tool
def write_note(path: str) -> str:
    "Write a note."
    return f"written to {path}"


@tool
def send_mail(to: str) -> str:
    "Send a mail."
    response = interrupt({"action": "send_mail", "to": to})
    return "sent" if response.get("action") == "approve" else "not sent"


class Weather(BaseModel):
    city: str
    degrees: float


@dataclass
class Context:
    user: str


MODEL = "openai:gpt-5.2"
asking = create_agent(MODEL, tools=[send_mail, write_note])
database = sqlite3.connect("blocking.sqlite", check_same_thread=False)
blocking = create_agent(MODEL, tools=[write_note], checkpointer=SqliteSaver(database))
forgetful = create_agent(MODEL, tools=[write_note], checkpointer=InMemorySaver())
forms = create_agent(MODEL, tools=[write_note], response_format=Weather)
needs_context = create_agent(MODEL, tools=[write_note], context_schema=Context)


@wrap_model_call
def hooked(request, handler):
    return handler(request)


ASKED = {"pay"}


@wrap_tool_call
async def ask_first(request, handler):
    if request.tool_call["name"] in ASKED:
        said = interrupt({"question": "May I?", "call": request.tool_call})
        if said != "yes":
            return ToolMessage(content="no", tool_call_id=request.tool_call["id"])
    return await handler(request)


@tool
def pay(to: str) -> str:
    "Pay."
    return "paid"


around = create_agent(MODEL, tools=[pay, write_note], middleware=[ask_first])
middle = create_agent(MODEL, tools=[write_note], middleware=[hooked])
model = init_chat_model(MODEL).bind_tools([write_note])
by_name = {"write_note": write_note}


def ask(state):
    return {"messages": [model.invoke(state["messages"])]}


def act(state):
    return {
        "messages": [
            ToolMessage(by_name[call["name"]].invoke(call["args"]), tool_call_id=call["id"])
            for call in state["messages"][-1].tool_calls
        ]
    }


def then(state):
    return "act" if state["messages"][-1].tool_calls else END


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("act", act)
builder.add_edge(START, "ask")
builder.add_conditional_edges("ask", then, ["act", END])
builder.add_edge("act", "ask")
by_hand = builder.compile()
nested = (
    StateGraph(MessagesState).add_node("inner", forms).add_edge(START, "inner").compile()
)


@tool
def delegate(request: str) -> str:
    "Hand a request on."
    state = writer.invoke({"messages": [{"role": "user", "content": request}]})
    return state["messages"][-1].text


writer = create_agent(MODEL, tools=[write_note])
supervisor = create_agent(MODEL, tools=[delegate])


@asynccontextmanager
async def make_agent():
    async with AsyncSqliteSaver.from_conn_string("awaited.sqlite") as saver:
        agent = create_agent(
            MODEL, tools=[write_note], checkpointer=saver, context_schema=Context
        )
        yield agent, Context("me")
"""

PYDANTIC_AI = """
from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic_ai import Agent, FunctionToolset, NativeOutput, RunContext

MODEL = "openai-chat:gpt-5.2"


class Advice(BaseModel):
    text: str
    risk: int = Field(ge=0, le=10)


@dataclass
class Deps:
    user: str


@dataclass
class Easy:
    user: str = "me"


def write_note(path: str) -> str:
    return f"written to {path}"


def delete_file(path: str) -> str:
    return "deleted"


forms = Agent(MODEL, output_type=Advice, tools=[write_note])
native = Agent(MODEL, output_type=NativeOutput(Advice), tools=[write_note])
needs_deps = Agent(MODEL, deps_type=Deps, tools=[write_note])
easy = Agent(MODEL, deps_type=Easy)


@needs_deps.instructions
def instructions(ctx: RunContext[Deps]) -> str:
    return f"The user is {ctx.deps.user}."


@easy.tool
def save_name(ctx: RunContext[Easy]) -> str:
    return ctx.deps.user


def make_agent():
    return needs_deps, Deps("me")


def create_text_agent() -> str:
    return "no agent"


notes = FunctionToolset(tools=[write_note]).prefixed("notes")
files = FunctionToolset(tools=[delete_file]).approval_required().prefixed("files")
wrapped = Agent(MODEL, toolsets=[notes.filtered(lambda ctx, tool: True), files])
"""

OPENAI_AGENTS = """
from dataclasses import dataclass

from agents import Agent, SQLiteSession, function_tool
from pydantic import BaseModel


class Event(BaseModel):
    name: str
    people: list[str]


@dataclass
class User:
    name: str


@function_tool
def refund(order: str) -> str:
    return "refunded"


@function_tool
def book(flight: str) -> str:
    return "booked"


forms = Agent(name="Extractor", output_type=Event)
refunds = Agent(name="Refund agent", tools=[refund])
bookings = Agent(name="Booking agent", tools=[book])
triage = Agent(name="Triage agent", handoffs=[refunds])
manager = Agent(
    name="Manager",
    tools=[bookings.as_tool(tool_name="book_expert", tool_description="Books.")],
)
needs_context = Agent[User](name="Assistant", tools=[book])


def make_agent():
    return Agent(name="Assistant", tools=[book]), SQLiteSession("it", "conversations.db")
"""
