"""What an exploration leaves behind: checked before the runs, written whole after them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from faultclock.cli.outputs import Outputs
from faultclock.cli.say import machine
from faultclock.load.files import check_output_file, make_output_folder, write_text_atomically

if TYPE_CHECKING:
    from faultclock.explore.followup import Followed
    from faultclock.model.report.exploration import Exploration

_STDOUT = "-"
_HTML, _JSON = "exploration.html", "exploration.json"


class ExploreOutputs(Struct, frozen=True, kw_only=True):
    """Where reports and failures go; None is not wanted, `-` is standard output.

    Attributes:
        folder: gets both reports, and the files of each failure.
    """

    folder: str | None = None
    html: str | None = None
    json: str | None = None

    @property
    def reports(self) -> tuple[tuple[str, str], ...]:
        """Each report that is wanted: `html` or `json`, and where it goes."""
        wanted = list(self._own().items())
        if self.folder is not None:
            names = (("html", _HTML), ("json", _JSON))
            wanted += [(kind, str(Path(self.folder, name))) for kind, name in names]
        return tuple(wanted)

    @property
    def takes_stdout(self) -> bool:
        """Whether a report goes to standard output, so that words for people must not."""
        return any(path == _STDOUT for _, path in self.reports)

    @property
    def has_page(self) -> bool:
        """Whether there will be a page to look at."""
        return any(kind == "html" for kind, _ in self.reports)

    def keeping_stdout(self) -> AbstractContextManager[None]:
        """Keep standard output for the report; see `Outputs.keeping_stdout`."""
        return Outputs(reports=self._own()).keeping_stdout()

    def check(self) -> None:
        """Make the folders and check that each report can be written.

        Raises:
            InputError: one cannot, or two outputs have one place.
        """
        if self.folder is not None:
            make_output_folder(self.folder)
        # Two of one kind may be wanted in two places.
        Outputs(reports=self._own()).check()
        if self.folder is not None:
            for name in (_HTML, _JSON):
                check_output_file(Path(self.folder, name))

    def _own(self) -> dict[str, str]:
        """Return those that were asked for by a file of their own."""
        own = {"html": self.html, "json": self.json}
        return {kind: path for kind, path in own.items() if path is not None}

    def write_failures(self, followed: Sequence[Followed]) -> dict[str, tuple[str, ...]]:
        """Write the files of each failure.

        Returns:
            fingerprint to the names of its files within the folder.

        Raises:
            InputError: one cannot be written.
        """
        from faultclock.load.trace_file import notes_path, write_trace

        written: dict[str, tuple[str, ...]] = {}
        if self.folder is None:
            return written
        for item in followed:
            names = list(item.files)
            for name, text in item.files.items():
                write_text_atomically(Path(self.folder, name), text)
            if item.trace is not None:
                trace = Path(self.folder, _trace_name(item))
                write_trace(trace, item.trace)
                names.append(trace.name)
                if notes_path(trace).is_file():
                    names.append(notes_path(trace).name)
            written[item.group.fingerprint] = tuple(names)
        return written

    def write_reports(self, exploration: Exploration) -> Iterator[str]:
        """Write the reports, and yield the paths of those that are files.

        Raises:
            InputError: one cannot be written.
        """
        # Imported here: whoever wants no report should not load the templates.
        from faultclock.render.exploration import exploration_html, exploration_json

        render = {"html": exploration_html, "json": exploration_json}
        for kind, path in self.reports:
            if path == _STDOUT:
                machine(render[kind](self.seen_from(exploration, ".")))
                continue
            seen = self.seen_from(exploration, Path(path).parent)
            write_text_atomically(path, render[kind](seen))
            yield path

    def seen_from(self, exploration: Exploration, start: str | os.PathLike[str]) -> Exploration:
        """Return an exploration whose failures name their files as they are seen from `start`."""
        if self.folder is None:
            return exploration
        way = os.path.relpath(self.folder, start)
        groups = (
            group.model_copy(
                update={"files": tuple(Path(way, name).as_posix() for name in group.files)}
            )
            for group in exploration.groups
        )
        return exploration.model_copy(update={"groups": tuple(groups)})


def _trace_name(item: Followed) -> str:
    stem = next((Path(name).stem for name in item.files if name.endswith(".yaml")), None)
    if stem is None:
        stem = f"{item.group.scenario.rsplit('/', 1)[-1]}-{item.group.fingerprint}"
    return f"{stem}.jsonl"
