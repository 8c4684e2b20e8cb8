"""`faultclock infer`: the retry profile that a client really implements."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.elsewhere import python_option
from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.options import jobs_option
from faultclock.cli.say import say
from faultclock.cli.target_options import subject_options
from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.cli.places import Places
    from faultclock.model.report.inferred import RetryProfile
    from faultclock.profile.infer.profile import Inferred

_TRACES = "traces"
_EPILOG = """\
SUBJECT is the id of a shipped subject (`faultclock list subjects`), or your own as
path/to/file.py:name. It is asked about every kind of failure, first for good and then with every
header that says when to retry; about a hundred runs in virtual time, the same ones each time.

A profile says only what the runs show. A wait is `exact` where low + u x width explains it to the
microsecond under 16 seeds, with u a number that the run is known to have drawn. What nothing shows
(a cap that no wait reaches, a factor behind two waits) is `unknown`, with the reason.

With --model, each point that the document speaks of is set beside what was seen.

\b
Examples:
  faultclock infer openai-async
  faultclock infer openai-async --model stud-cli -o reports/openai
  faultclock infer my_adapter.py:subject --json - | jq '.schedules[].layers[].text'

Exit codes: 0 the profile is made, and no MUST of --model differs; 1 a MUST of
--model differs (SHOULD and MAY are listed and change nothing); 2 wrong usage;
3 nothing could be inferred, or no client of a model's provider was named.
"""


@click.command(name="infer", epilog=_EPILOG)
@click.argument("subject", metavar="SUBJECT")
@click.option(
    "--model",
    metavar="ID|FILE",
    help="Error model to set beside the profile; without it, nothing is compared.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Write profile.json, profile.html and the traces of all runs there.",
)
@click.option("--json", metavar="FILE", help="Write the profile as JSON; - is standard output.")
@click.option("--html", metavar="FILE", help="Write the profile as one self-contained page.")
@subject_options
@python_option
@jobs_option("Runs at a time.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no profile on the terminal.")
def command(
    subject: str,
    model: str | None,
    output: str | None,
    json: str | None,
    html: str | None,
    jobs: int,
    quiet: bool,
) -> int:
    """Find out how a client retries: how often, how long, after what, and until when.

    It judges nothing by itself. Attempts, base, factor, cap, jitter, hidden layers, headers and
    their ceilings, and deadlines, each with the traces behind it.
    """
    places = _places(output, json, html)
    from faultclock.load.error_model import load_error_model

    error_model = load_error_model(model) if model is not None else None
    from faultclock.cli.preparing import prepared
    from faultclock.cli.progress import bar
    from faultclock.profile.infer.profile import infer_profile
    from faultclock.profile.infer.running import Bench

    binding = prepared(subject).binding
    if binding.role not in ("provider_adapter", "runtime"):
        raise InputError(
            f"{binding.id} is a {binding.role}, and asks no model's provider",
            hint="a provider adapter or a runtime has retries that can be inferred",
        )
    started_s = time.perf_counter()
    with (
        bar(None, quiet=quiet) as advance,
        Bench(binding, jobs=jobs, on_run=advance) as bench,
    ):
        inferred = infer_profile(binding, bench.run, error_model)
    profile = _kept(inferred, output)
    from faultclock.render.inferred import profile_page
    from faultclock.render.json_text import canonical_json

    places.write(profile, json=canonical_json, html=profile_page)
    _tell(profile, places, time.perf_counter() - started_s, quiet=quiet)
    if not profile.says_something:
        return INCONCLUSIVE
    breached = any(item.differs and item.level == "MUST" for item in profile.differences)
    return NONCONFORMING if breached else OK


def _places(output: str | None, json: str | None, html: str | None) -> Places:
    """Return where each form goes, checked before anything runs."""
    from faultclock.cli.places import places_of
    from faultclock.load.files import make_output_folder

    places = {form: place for form, place in (("json", json), ("html", html)) if place}
    if output is not None:
        make_output_folder(output)
        make_output_folder(str(Path(output, _TRACES)))
        for form in ("json", "html"):
            places.setdefault(form, str(Path(output, f"profile.{form}")))
    return places_of(places)


def _kept(inferred: Inferred, output: str | None) -> RetryProfile:
    """Store the traces where there is a folder for them, and name their files in the profile."""
    profile = inferred.profile
    if output is None:
        return profile
    from faultclock.load.trace_file import write_trace
    from faultclock.profile.infer.probes import trace_file_name

    refs = []
    for ref in profile.traces:
        name = f"{_TRACES}/{trace_file_name(ref.name)}"
        write_trace(Path(output, name), inferred.traces[ref.name])
        refs.append(ref.model_copy(update={"file": name}))
    return profile.model_copy(update={"traces": tuple(refs)})


def _tell(profile: RetryProfile, places: Places, wall_s: float, *, quiet: bool) -> None:
    from faultclock.render.inferred import profile_text
    from faultclock.render.wording import count

    out = places.out
    if not quiet:
        for line in profile_text(profile):
            say(line, out=out)
        say("", out=out)
    say(f"{count(len(profile.traces), 'run')} in {wall_s:.1f} s", out=out)
    for place in places.files:
        say(f"  written: {place}", out=out)
