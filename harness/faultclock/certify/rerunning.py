"""Makes the runs of a certificate once more, and compares them with the traces that it holds.

Only this shows that the subject does what its traces say: a signature and a judgement show that
somebody says so, and that it would conform.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from faultclock.certify.contents import TRACE_BYTES_MAX, TRACES, trace_name
from faultclock.certify.folder import read_file
from faultclock.certify.levels.evidence import gather
from faultclock.load.error_model import load_error_model
from faultclock.load.requirement_set import load_requirement_set
from faultclock.load.trace_file import parse_trace
from faultclock.model.report.certificate import Fault
from faultclock.model.report.evidence import Evidence
from faultclock.model.trace.trace import Trace
from faultclock.run.compare import compare, other_circumstances
from faultclock.subjects.binding import Binding

#: Traces that are named one by one; a subject that was changed differs in all of them.
_TOLD = 5


class Rerun(Struct):
    """What came of it."""

    faults: list[Fault] = field(default_factory=list)
    runs: int = 0
    _other: int = 0

    def other(self, file: str, what: str) -> None:
        """Note that a run is not what was recorded."""
        self._other += 1
        if self._other <= _TOLD:
            self.faults.append(Fault(file=file, what=what))

    def close(self) -> None:
        """Note how many are not named."""
        if self._other > _TOLD:
            self.faults.append(Fault(file=TRACES, what=f"and {self._other - _TOLD} more are not"))


def rerun(
    root: Path,
    evidence: Evidence,
    binding: Binding,
    subject_spec: str,
    *,
    jobs: int = 1,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Rerun:
    """Run again what `evidence` names, which was judged before.

    Args:
        root: folder of the certificate, whose files are as they were signed.
        subject_spec: how the subject is loaded in another process.
    """
    result = Rerun()
    digests = {item.name: item.digest for item in evidence.traces}
    made: set[str] = set()

    def on_trace(name: str, trace: Trace) -> None:
        made.add(name)
        result.runs += 1
        if name not in digests:
            result.other(trace_name(name), "this run was made now, and there is no trace of it")
        elif trace.footer.digest != digests[name]:
            result.other(trace_name(name), f"run again, it is not the same: {_first(name, trace)}")

    def _first(name: str, trace: Trace) -> str:
        content = read_file(root, trace_name(name), bytes_max=TRACE_BYTES_MAX)
        if content is None:
            return "its trace cannot be read any more"
        recorded = parse_trace(content, name)
        circumstances = other_circumstances(recorded, trace)
        if circumstances:
            return "; ".join(circumstances[:3])
        return f"the first difference is in line {compare(recorded, trace).line_number}"

    set_ = load_requirement_set(evidence.model)
    gathered = gather(
        binding,
        subject_spec,
        load_error_model(evidence.model),
        set_,
        evidence.level,
        jobs=jobs,
        on_trace=on_trace,
        on_progress=on_progress,
        told_as=evidence.subject_spec,
    )
    for name in sorted(digests.keys() - made):
        result.other(trace_name(name), "this run was not made again")
    again = gathered.evidence
    result.close()
    if not result.faults:
        for what in ("subject", "doubles", "explored", "unsteady", "passed_over", "dialects"):
            if getattr(again, what) != getattr(evidence, what):
                result.faults.append(
                    Fault(file="evidence.json", what=f"run again, {what} is not the same")
                )
    return result
