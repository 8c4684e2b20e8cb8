"""What a mutant is: the subject with one defect."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from faultclock.model.report.kill_matrix import Family
from faultclock.model.trace.trace import Trace
from faultclock.subjects.binding import Binding

#: What a trace looks like if the subject had said something else; None where it would be the same,
#: or could not be.
TraceEdit = Callable[[Trace], Trace | None]
#: Makes a wrong subject of a right one, in the process that has loaded it. It can be pickled.
Change = Callable[[Binding], Binding]


class Mutant(Struct, frozen=True, kw_only=True):
    """One wrong subject. Give either `edit` or `change`.

    Attributes:
        id: stable, and the same for equal subjects.
        group: what it changes, in one word or two.
        does: what is wrong with it, in one sentence without an end.
        edit: of each trace of the subject.
        change: of the subject.
        binding: what the trace says of the changed subject; None: what it says of the subject.
        scenarios: ids of those in which it can differ; None: all.
        only_for: the check that it is made for; None: it is tried for any rule.
        shown_by: id of the scenario in which it is tried first; None: any.
    """

    id: str
    family: Family
    group: str
    does: str
    edit: TraceEdit | None = None
    change: Change | None = None
    binding: Binding | None = None
    scenarios: frozenset[str] | None = None
    only_for: str | None = None
    shown_by: str | None = None
