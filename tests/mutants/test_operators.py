"""What each operator does at a step, shown on a reference of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from faultclock.load.yaml_file import parse_document
from faultclock.mutants.events import Editor, EventOperator, Fields
from faultclock.mutants.reference import Part, Reference
from faultclock.mutants.row import Row
from faultclock.mutants.rows import rows_of
from faultclock.subjects.ports import TypedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for."""

    item: str = "tea"
    pieces: int = 2
    notes: Mapping[str, Any] = field(default_factory=dict)


class Clerk:
    """Writes down what is done."""

    patience_s = 3.0

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.tired = False

    def write(self, text: str) -> str:
        """Write a text down."""
        self.done.append(text)
        return text.upper()

    def count(self, number: int) -> None:
        """Write a number down."""
        self.done.append(number)

    def keep(self, notes: Mapping[str, Any]) -> None:
        """Keep notes."""
        self.done.append(notes)

    def fail(self, code: str) -> None:
        """Raise."""
        self.done.append(code)
        raise TypedError("Shop", code, "no")


class Shop:
    """A reference with two steps that decide, and one that waits."""

    clerk_type: type[Clerk] = Clerk

    def __init__(self) -> None:
        self.clerk = self.clerk_type()
        self.events: list[tuple[str, Fields]] = []

    def emit(self, name: str, **fields: Any) -> None:
        """Declare an event."""
        self.events.append((name, fields))

    def price(self, order: Order, *, each: float = 1.5) -> float | None:
        """Return what an order costs."""
        return order.pieces * each

    def order(self, text: str) -> Order | None:
        """Return the order that a text is."""
        return Order(item=text)

    async def serve(self, order: Order) -> tuple[str, ...]:
        """Carry out an order."""
        self.emit("started", item=order.item, by={"name": "Ada", "desk": 1})
        await asyncio.sleep(0)
        said = self.clerk.write(order.item)
        self.emit("ended", item=order.item)
        return (said, "thanks")


def _edited(base: type[Any], operators: tuple[EventOperator, ...]) -> type[Any]:
    def init(self: Any) -> None:
        base.__init__(self)
        put = self.emit
        self.emit = lambda name, **fields: editor.pass_on(name, fields)
        editor = Editor(operators, lambda name, fields: put(name, **fields))

    return type("Edited", (base,), {"__init__": init})


SHOP = Reference(
    prefix="mini-shop-",
    model="shop",
    base=Shop,
    bind=lambda made, id_, title: made,  # type: ignore[arg-type,return-value]
    parts={"clerk": Part(made=Clerk, attribute="clerk_type")},
    edited=_edited,
    emit=lambda shop, name, fields: shop.emit(name, **fields),
)


def row(operator: str) -> Row:
    """Return a row with the operators that are written there."""
    text = f"of: shop\nrows: [{{id: wrong, does: Is wrong, fails: a, shown_by: b, {operator}}}]\n"
    (found,) = rows_of(parse_document(text.encode(), "shop.yaml")).rows
    return found


def shop(operator: str) -> Any:
    """Return the shop with an operator."""
    return SHOP.wrong(row(operator))()


def served(made: Any, order: Order | None = None) -> Any:
    """Return what the shop says when it carries out an order."""
    return asyncio.run(made.serve(order or Order()))


def names(made: Any) -> list[str]:
    """Return the names of the events that were declared."""
    served(made)
    return [name for name, _ in made.events]


def test_a_step_is_left_out_where_the_condition_holds() -> None:
    """Where it does not, the step of the reference is taken."""
    made = shop("skip: {step: price, where: {order.item: milk}}")
    assert made.price(Order(item="milk")) is None
    assert made.price(Order()) == 3.0


def test_a_part_of_the_reference_is_changed_without_the_others() -> None:
    """A step of a part is named with the part before it."""
    made = shop("skip: clerk.write")
    assert served(made) == (None, "thanks")
    assert made.clerk.done == []
    assert Shop().clerk.write("x") == "X"


def test_a_constant_has_another_value() -> None:
    """In the reference, and in a part of it."""
    assert shop("tune: {clerk.patience_s: 9.0}").clerk.patience_s == 9.0


def test_a_mapping_becomes_the_object_that_the_step_returns() -> None:
    """Lists become tuples, as references have them."""
    assert shop("return: {step: order, value: {pieces: 7}}").order("x") == Order(pieces=7)
    assert served(shop("return: {step: serve, value: [a, b]}")) == ("a", "b")


def test_a_mapping_that_does_not_fit_the_type_stays_a_mapping() -> None:
    """A step may give an object or a mapping."""
    made = shop("return: {step: order, value: {wish: tea}}")
    assert made.order("x") == {"wish": "tea"}


def test_what_is_given_instead_may_stand_at_a_path() -> None:
    """As the object that stands there, or as a part of a text."""
    order = Order()
    assert shop("return: {step: price, taken: order}").price(order) is order
    made = shop("return: {step: order, value: {item: 'no {text}'}}")
    assert made.order("milk") == Order(item="no milk")


@pytest.mark.parametrize(
    "operator",
    [
        "return: {step: price, between: [2.0, 3.0]}",
        "change: {step: price, times: {result: [0.7, 0.9]}}",
    ],
)
def test_a_number_between_two_is_drawn(operator: str) -> None:
    """It is another one each time, whether it is given or multiplied with."""
    made = shop(operator)
    prices = {made.price(Order()) for _ in range(20)}
    assert all(2.0 <= price <= 3.0 for price in prices)
    assert len(prices) > 1


def test_a_step_raises_what_the_row_names() -> None:
    """The exception is made of the arguments that stand there."""
    made = shop("raise: {step: price, error: {TypedError: {error_class: A, code: B, message: c}}}")
    with pytest.raises(TypedError, match="c") as caught:
        made.price(Order())
    assert (caught.value.error_class, caught.value.code) == ("A", "B")


@pytest.mark.parametrize("hides", [False, True])
def test_another_exception_is_raised_in_the_place_of_one(hides: bool) -> None:
    """The one before it is its cause unless the row hides it; the text may hold paths."""
    made = shop(
        "raise: {step: clerk.fail, upon: TypedError, where: {error.code: Busy}, "
        f"hides: {str(hides).lower()}, error: {{RuntimeError: 'the {{code}} clerk: {{error}}'}}}}"
    )
    with pytest.raises(RuntimeError, match="the Busy clerk: no") as caught:
        made.clerk.fail("Busy")
    assert isinstance(caught.value.__cause__, TypedError) is not hides
    with pytest.raises(TypedError):
        made.clerk.fail("Gone")


def test_an_exception_is_raised_behind_a_step() -> None:
    """Where a condition is on what it gives; the others are looked at behind it, too."""
    made = shop(
        "raise: {step: clerk.write, where: {result: {not: null}, self.done.-1: no}, "
        "error: {ValueError: no}}"
    )
    assert made.clerk.write("yes") == "YES"
    with pytest.raises(ValueError, match="no"):
        made.clerk.write("no")


def test_a_step_is_taken_again() -> None:
    """Always, or while a condition on what it gives holds."""
    made = shop("again: {step: clerk.write, times: 2}")
    made.clerk.write("x")
    assert made.clerk.done == ["x", "x", "x"]
    made = shop("again: {step: clerk.write, where: {result: NO}}")
    made.clerk.write("yes")
    made.clerk.write("no")
    assert made.clerk.done == ["yes", "no", "no"]


def test_a_step_is_taken_again_after_an_error() -> None:
    """What it raises the second time leaves it."""
    made = shop("again: {step: clerk.fail, upon: TypedError, where: {error.code: Busy}}")
    for code in ("Busy", "Gone"):
        with pytest.raises(TypedError):
            made.clerk.fail(code)
    assert made.clerk.done == ["Busy", "Busy", "Gone"]


def test_an_error_is_swallowed_where_the_condition_holds() -> None:
    """Another error leaves the step."""
    made = shop("swallow: {step: clerk.fail, error: TypedError, where: {error.code: Busy}}")
    assert made.clerk.fail("Busy") is None
    with pytest.raises(TypedError):
        made.clerk.fail("Gone")


def test_a_step_that_does_not_wait_is_put_off() -> None:
    """It is taken when the time is there."""

    async def run() -> tuple[list[Any], list[Any]]:
        made = shop("delay: {step: clerk.write, by_s: 0.001}")
        made.clerk.write("x")
        before = list(made.clerk.done)
        await asyncio.sleep(0.01)
        return before, made.clerk.done

    assert asyncio.run(run()) == ([], ["x"])


@pytest.mark.parametrize(("behind", "done"), [("true", [3, "x"]), ("false", ["x", 3])])
def test_a_step_waits_for_another_one(behind: str, done: list[Any]) -> None:
    """It is taken behind it, or just before it."""
    operator = f"delay: {{step: clerk.write, until: count, behind: {behind}}}"
    clerk = shop(operator).clerk
    clerk.write("x")
    assert clerk.done == []
    clerk.count(3)
    assert clerk.done == done


def test_a_cancel_does_not_reach_a_shielded_step() -> None:
    """The step goes on to its end."""

    async def run() -> list[Any]:
        made = shop("shield: serve")
        task = asyncio.ensure_future(made.serve(Order()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await asyncio.sleep(0)
        return list(made.clerk.done)

    assert asyncio.run(run()) == ["tea"]


def test_a_cancel_is_lost_in_a_step_that_goes_to_its_end() -> None:
    """The caller waits for it, and never learns of the cancel."""

    async def run() -> Any:
        task = asyncio.ensure_future(shop("shield: {step: serve, to_the_end: true}").serve(Order()))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(run()) == ("TEA", "thanks")


@pytest.mark.parametrize(
    ("operator", "price"),
    [
        ("set: {order.pieces: 5}", 7.5),
        ("plus: {order.pieces: -1}", 1.5),
        ("swap: {order.pieces: [2, 4]}", 6.0),
        ("swap: {order.pieces: [4, 2]}", 6.0),
        ("swap: {order.pieces: [4, 6]}", 3.0),
        ("times: {result: 0.5}", 1.5),
        ("set: {result: null}", None),
        ("where: {result: {above: 2.9}}, set: {result: 1.0}", 1.0),
        ("where: {result: {below: 2.9}}, set: {result: 1.0}", 3.0),
        ("taken: {result: order.item}", "tea"),
        ("say: {result: 'a {order.item} for {self.clerk.patience_s}'}", "a tea for 3.0"),
    ],
)
def test_a_step_takes_or_gives_something_else(operator: str, price: Any) -> None:
    """A path that begins with an argument changes that, and one with `result` what comes back."""
    assert shop(f"change: {{step: price, {operator}}}").price(Order()) == price


def test_what_is_left_out_and_turned_round() -> None:
    """The caller's own object stays as it is."""
    order = Order(notes={"gift": True, "to": {"name": "Ada"}})
    made = shop("change: {step: clerk.keep, less: [notes.gift, notes.to.name]}")
    made.clerk.keep(order.notes)
    assert made.clerk.done == [{"to": {}}]
    assert order.notes == {"gift": True, "to": {"name": "Ada"}}
    assert served(shop("change: {step: serve, reverse: [result]}")) == ("thanks", "TEA")


def test_what_belongs_to_the_object_is_changed_before_or_behind_a_step() -> None:
    """Behind it, what the step has set is set again."""
    assert shop("change: {step: price, set: {self.clerk.tired: true}}").price(Order()) == 3.0
    made = shop("change: {step: clerk.__init__, set: {self.tired: true}, behind: true}")
    assert made.clerk.tired


def test_a_condition_on_what_is_changed_behind_a_step_is_looked_at_there() -> None:
    """Before the step there is nothing yet that it could hold for."""
    made = shop(
        "change: {step: clerk.write, where: {self.done.-1: no}, less: [self.done.-1], behind: true}"
    )
    made.clerk.write("yes")
    made.clerk.write("no")
    assert made.clerk.done == ["yes"]


def test_an_object_is_made_by_its_name() -> None:
    """A lock that keeps nothing out, in the place of the reference's own."""
    made = shop("change: {step: __init__, set: {self.queue: {OpenLock: {}}}, behind: true}")

    async def run() -> str:
        async with made.queue, made.queue:
            return "both"

    assert asyncio.run(run()) == "both"


def test_another_step_is_taken_beside_a_step() -> None:
    """With what stands in the row, and what stands at the step."""
    made = shop("also: {step: clerk.write, before: price, say: {text: 'price of {order.item}'}}")
    assert made.price(Order()) == 3.0
    assert made.clerk.done == ["price of tea"]


def test_another_step_is_taken_after_an_error() -> None:
    """The error leaves the step all the same."""
    made = shop("also: {step: write, behind: clerk.fail, upon: TypedError, given: {text: oh}}")
    with pytest.raises(TypedError):
        made.clerk.fail("Busy")
    assert made.clerk.done == ["Busy", "oh"]


def test_what_another_step_takes_is_made_by_its_types() -> None:
    """A mapping becomes the object that it asks for; it is taken in the background."""
    made = shop("also: {step: serve, before: order, after_s: 0.0, given: {order: {item: milk}}}")

    async def run() -> list[Any]:
        made.order("x")
        before = list(made.clerk.done)
        await asyncio.sleep(0.01)
        return [before, made.clerk.done]

    assert asyncio.run(run()) == [[], ["milk"]]


def test_what_a_step_raises_in_the_background_is_lost() -> None:
    """Nothing waits for it."""
    made = shop("also: {step: clerk.fail, before: order, after_s: 0.001, given: {code: Busy}}")

    async def run() -> list[Any]:
        made.order("x")
        await asyncio.sleep(0.01)
        return list(made.clerk.done)

    assert asyncio.run(run()) == ["Busy"]


@pytest.mark.parametrize(
    ("operator", "declared"),
    [
        ("drop: started", ["ended"]),
        ("drop: {where: {by.desk: 1}}", ["ended"]),
        ("drop: {event: started, where: {by.desk: {not: 1}}}", ["started", "ended"]),
        ("double: ended", ["started", "ended", "ended"]),
        ("double: {event: ended, named: over}", ["started", "ended", "over"]),
        ("move: {event: started, until: ended}", ["ended", "started"]),
        ("move: {event: started, until: ended, behind: false}", ["started", "ended"]),
        ("set: {event: ended, named: over}", ["started", "over"]),
        ("emit: {event: opened, before: serve}", ["opened", "started", "ended"]),
        ("emit: {event: closed, behind: serve}", ["started", "ended", "closed"]),
    ],
)
def test_what_becomes_of_declared_events(operator: str, declared: list[str]) -> None:
    """Dropped, doubled, moved, renamed, or one that the reference does not have."""
    assert names(shop(operator)) == declared


def test_the_fields_of_an_event_are_changed() -> None:
    """At any depth; the others stay."""
    made = shop("set: {event: started, set: {by.name: null}, less: [item, by.desk]}")
    served(made)
    assert made.events[0] == ("started", {"by": {"name": None}})


def test_an_added_event_says_what_stands_at_the_step() -> None:
    """Its own fields and those that are taken."""
    made = shop("emit: {event: sold, fields: {n: 1}, taken: {item: order.item}, behind: serve}")
    served(made)
    assert made.events[-1] == ("sold", {"n": 1, "item": "tea"})


def test_several_operators_of_a_row_all_apply() -> None:
    """A list is written where one kind is needed twice."""
    made = shop("skip: clerk.write, drop: [started, ended]")
    assert served(made) == (None, "thanks")
    assert made.events == []
