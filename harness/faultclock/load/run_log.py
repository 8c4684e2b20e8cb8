"""Keeps the reports of any number of runs: the first in memory, the others on disk.

    log = RunLog()
    for ...:
        run = log.add(run_report)   # the same report, of which a line stays in memory
    log.runs()                      # as `Report.runs` takes them

A report on disk has in memory what lists and totals ask for. Everything else is read when it is
asked for and forgotten again, so code that takes many runs one by one has one of them in memory.
The file has no name: it is gone with the process, however that ends.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from faultclock.errors import InputError
from faultclock.model.canonical import canonical_text, canonical_value
from faultclock.model.report.finding import CallReport, Finding, RunReport, Verdict, WaitMark

#: Runs that stay in memory as they are: nearly every report has fewer.
HELD_MAX = 100
#: Reports that were read and are not yet forgotten, and findings that many runs have.
_READ_MAX, _FINDINGS_MAX = 8, 8_192
#: How far back a compressed text may refer to the text before it.
_WINDOW = 32_768
#: Fields of a report on disk that stay in memory.
_IN_MEMORY = (
    *("scenario", "title", "variant", "crash_point", "resumes", "seed", "verdict", "ending"),
    *("virtual_ns", "time_base"),
)
_FIELDS_SET = set(RunReport.model_fields)
#: Few reports are so long that anything of them is read again.
_LATER = ConfigDict(defer_build=True)
#: Fields that many ask for alone: where they stand, and what reads them.
_PARTS: Mapping[str, tuple[int, TypeAdapter[Any]]] = {
    "calls": (0, TypeAdapter(tuple[CallReport, ...], config=_LATER)),
    "waits": (1, TypeAdapter(tuple[WaitMark, ...], config=_LATER)),
}
#: Where findings stand in a text without them. No field before it holds a dict, and a quote in a
#: text is escaped: so the first one is it.
_NO_FINDINGS = '"findings":[]'


class RunLog:
    """The reports of the runs of one report, in their order.

    Args:
        held_max: so many are not written to disk.
    """

    def __init__(self, *, held_max: int = HELD_MAX) -> None:
        self._held_max = held_max
        self._runs: list[RunReport] = []
        self._descriptor: int | None = None
        self._size = 0
        #: The first text of each scenario, to which the others refer: they differ little from it.
        self._first: dict[str, bytes] = {}
        self._equal: dict[Any, Any] = {}
        self._read: OrderedDict[int, RunReport] = OrderedDict()

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def add(self, run: RunReport) -> RunReport:
        """Keep one more report, and return it as it is kept.

        Raises:
            InputError: there is no room for it on the disk.
        """
        if len(self._runs) >= self._held_max:
            run = self._stored(run)
        self._runs.append(run)
        return run

    def runs(self) -> tuple[RunReport, ...]:
        """Return all of them."""
        return tuple(self._runs)

    def lines(self, run: _Stored) -> list[str]:
        """Return what is on disk of a report: its parts, all else of it, then each finding."""
        assert self._descriptor is not None, "it was written"
        packed = os.pread(self._descriptor, run.place.size, run.place.offset)
        unpacker = zlib.decompressobj(zdict=self._first[run.scenario])
        return (unpacker.decompress(packed) + unpacker.flush()).decode("ascii").splitlines()

    def whole(self, run: _Stored) -> RunReport:
        """Return a report with everything, as it was."""
        found = self._read.get(run.place.offset)
        if found is None:
            value, findings = _read(self.lines(run))
            value["findings"] = tuple(map(_finding, findings))
            found = self._read[run.place.offset] = RunReport.model_validate(value)
            if len(self._read) > _READ_MAX:
                self._read.popitem(last=False)
        return found

    def _stored(self, run: RunReport) -> RunReport:
        # In the order of its fields: what stands in a page is in that order, too.
        rest = run.model_copy(update={"findings": ()}).model_dump(mode="json")
        parts = (json.dumps(rest.pop(name)) for name in _PARTS)
        lines = (*parts, json.dumps(rest), *map(_finding_text, run.findings))
        text = "\n".join(lines).encode("ascii")
        packer = zlib.compressobj(1, zdict=self._first.setdefault(run.scenario, text[-_WINDOW:]))
        packed = packer.compress(text) + packer.flush()
        try:
            if self._descriptor is None:
                with tempfile.TemporaryFile() as file:
                    self._descriptor = os.dup(file.fileno())
            # By its place: processes that are forked from this one share the mark in the file.
            os.pwrite(self._descriptor, packed, self._size)
        except OSError as error:
            raise InputError(
                f"the reports of {len(self._runs):,} runs cannot be kept: {error.strerror}",
                hint="TMPDIR names a folder: choose one with more room",
            ) from None
        place = _Place(
            log=self,
            offset=self._size,
            size=len(packed),
            attempts=run.attempts,
            verdicts=self._shared(run.verdicts),
        )
        self._size += len(packed)
        return _Stored.of(place, {name: self._shared(getattr(run, name)) for name in _IN_MEMORY})

    def _shared(self, value: Any) -> Any:
        """Return an equal text or set that other runs have, too."""
        # By the type itself: a verdict is a text, and equal to its name.
        return self._equal.setdefault(value, value) if type(value) in (str, frozenset) else value


class _Place(NamedTuple):
    """Where a report is on disk, and what is known of its parts."""

    log: RunLog
    offset: int
    size: int
    attempts: int
    verdicts: frozenset[Verdict]


class _Stored(RunReport):
    """A report on disk. It is a RunReport to everything that reads one."""

    @classmethod
    def of(cls, place: _Place, in_memory: dict[str, Any]) -> _Stored:
        """Return the report at `place`, without checking again what was checked before."""
        made = cls.__new__(cls)
        for name, value in in_memory.items():
            object.__setattr__(made, name, value)
        object.__setattr__(made, "_place", place)
        object.__setattr__(made, "__pydantic_fields_set__", _FIELDS_SET)
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "findings":
            return tuple(map(_finding, self.place.log.lines(self)[len(_PARTS) + 1 :]))
        if (part := _PARTS.get(name)) is not None:
            number, adapter = part
            return adapter.validate_json(self.place.log.lines(self)[number])
        if name in RunReport.model_fields:
            return getattr(self.in_full(), name)
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return self.in_full() == (other.in_full() if isinstance(other, RunReport) else other)

    # As any report: it holds what has no hash.
    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return RunReport.model_validate_json, (self.canonical(),)

    @property
    def place(self) -> _Place:
        """Where it is."""
        place: _Place = self.__dict__["_place"]
        return place

    @property
    def attempts(self) -> int:
        """How many attempts its calls made."""
        return self.place.attempts

    @property
    def verdicts(self) -> frozenset[Verdict]:
        """The verdicts of its findings."""
        return self.place.verdicts

    def in_full(self) -> RunReport:
        """Return it with everything, as it was."""
        return self.place.log.whole(self)

    def canonical(self) -> str:
        """Return it as canonical JSON."""
        value, findings = _read(self.place.log.lines(self))
        return canonical_value(value).replace(_NO_FINDINGS, f'"findings":[{",".join(findings)}]', 1)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        """Return a copy of it in memory."""
        return self.in_full().model_copy(update=update, deep=deep)


def _read(lines: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return all fields of a report but its findings, and those as they are written."""
    parts, rest, findings = lines[: len(_PARTS)], lines[len(_PARTS)], lines[len(_PARTS) + 1 :]
    value = {**json.loads(rest), **dict(zip(_PARTS, map(json.loads, parts), strict=True))}
    return {name: value[name] for name in RunReport.model_fields if name in value}, findings


@lru_cache(maxsize=_FINDINGS_MAX)
def _finding_text(finding: Finding) -> str:
    return canonical_text(finding)


@lru_cache(maxsize=_FINDINGS_MAX)
def _finding(text: str) -> Finding:
    return Finding.model_validate_json(text)
