"""A module for Node has the folder of its run: node:fs leads into it, and changes nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.model.trace.trace import WALL_EPOCH_NS, trace_lines
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.node.modules import CLIENTS, folder_with, needs_node, needs_packages, subject_of
from tests.run.conftest import shipped_scenario
from tests.run.test_node import end_of, run, said_by, world

pytestmark = needs_node

SHOWN = "/proc/self/fd/250"
WORK, HOME, TEMPORARY = (f"{SHOWN}/{name}" for name in ("work", "home", "tmp"))
IMPORTS = """
import fs from 'node:fs';
import * as fsp from 'node:fs/promises';
import os from 'node:os';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { pipeline } from 'node:stream/promises';
const atLoad = [process.cwd(), os.homedir(), os.tmpdir()];
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder of the user's with files in it."""
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "given.txt").write_text("given", "utf-8")
    (folder / "data" / "rows.txt").write_text("rows", "utf-8")
    monkeypatch.chdir(folder)
    return folder


def said(project: Path, body: str) -> Any:
    """Return what a function with this body returns, in a module beside the files."""
    return said_by(project, body, IMPORTS)


def test_the_folders_of_a_run_are_the_same_in_every_run_and_at_load(project: Path) -> None:
    """A path that a module keeps while it is loaded is one of the run."""
    found = said(project, "return [...atLoad, process.cwd(), os.homedir(), os.tmpdir()];")
    assert found == [WORK, HOME, TEMPORARY] * 2


def test_every_form_of_fs_works_in_the_folder(project: Path) -> None:
    """Blocking, with a callback, with a promise, by a descriptor, and as streams."""
    found = said(
        project,
        """
        fs.writeFileSync('note.txt', 'one');
        await promisify(fs.appendFile)(path.resolve('note.txt'), ' two');
        await fsp.appendFile(new URL('file://' + process.cwd() + '/note.txt'), ' three');
        const file = await fsp.open('note.txt', 'a'); await file.write(' four'); await file.close();
        const fd = fs.openSync('note.txt', 'a'); fs.writeSync(fd, ' five'); fs.closeSync(fd);
        const written = fs.createWriteStream('note.txt', { flags: 'a' });
        await pipeline(async function* () { yield ' six'; }, written);
        let read = '';
        for await (const part of fs.createReadStream('note.txt', 'utf8')) read += part;
        const made = await fsp.mkdir(path.join(os.homedir(), 'a/b'), { recursive: true });
        await fsp.rename('note.txt', path.join(os.homedir(), 'a/b/kept.txt'));
        const all = await promisify(fs.readdir)(os.homedir(), { recursive: true });
        return [read, made, fs.existsSync('note.txt'), all];
        """,
    )
    assert found == [
        "one two three four five six",
        f"{HOME}/a",
        False,
        ["a", "a/b", "a/b/kept.txt"],
    ]


def test_files_of_the_user_show_through_and_stay_as_they_are(project: Path) -> None:
    """What is changed is a copy; what is removed is gone for the run alone."""
    found = said(
        project,
        """
        fs.appendFileSync('given.txt', ' and more');
        fs.writeFileSync('data/new.txt', 'new');
        fs.unlinkSync('data/rows.txt');
        const entries = [];
        for await (const entry of await fsp.opendir('data')) entries.push(entry.name);
        return [fs.readFileSync('given.txt', 'utf8'), fs.readdirSync('data'), entries,
          fs.existsSync('data/rows.txt')];
        """,
    )
    assert found == ["given and more", ["new.txt"], ["new.txt"], False]
    assert (project / "given.txt").read_text("utf-8") == "given"
    assert [path.name for path in (project / "data").iterdir()] == ["rows.txt"]


def test_a_module_is_found_by_a_path_of_the_working_directory(project: Path) -> None:
    """It lies where that shows through, whether the folder or the module itself is named."""
    (project / "data" / "settings.cjs").write_text("module.exports = 'set';", "utf-8")
    found = said(
        project,
        """
        const require = createRequire(path.join(process.cwd(), 'package.json'));
        const whole = path.resolve('data/settings.cjs');
        const imports = Number(process.versions.node.split('.')[0]) > 20;
        return [require('./data/settings.cjs'), require(whole),
          imports ? (await import(whole)).default : 'set'];
        """,
    )
    assert found == ["set"] * 3


def test_what_a_file_is_said_to_be_is_of_the_run(project: Path) -> None:
    """Times are those of the simulated clock; names that are drawn come from the seed."""
    body = """
        fs.writeFileSync('a.txt', 'a');
        await new Promise(resolve => setTimeout(resolve, 5000));
        const file = await fsp.open('b.txt', 'w');
        const [a, b] = [fs.statSync('a.txt'), await file.stat()];
        await file.close();
        fs.utimesSync('a.txt', 1, 2);
        return [a.mtimeMs, +b.mtime, a.ino, b.ino, (await fsp.stat('a.txt')).mtimeMs,
          fs.realpathSync('a.txt'), fs.mkdtempSync('drawn-')];
        """
    first, again = said(project, body), said(project, body)
    began_ms = WALL_EPOCH_NS // 1_000_000
    assert first[:6] == [began_ms, began_ms + 5000, 1, 2, 2000, f"{WORK}/a.txt"]
    assert first == again


def test_an_error_names_the_file_as_the_program_does(project: Path) -> None:
    """And not where the folder of this run is."""
    found = said(
        project,
        """
        const errors = [];
        const keep = error => errors.push([error.code, error.message, error.path]);
        try { fs.readFileSync('none/a.txt'); } catch (error) { keep(error); }
        await fsp.rmdir('none').catch(keep);
        await promisify(fs.readdir)(os.homedir() + '/none').catch(keep);
        return errors;
        """,
    )
    assert found == [
        ["ENOENT", f"ENOENT: no such file or directory, {what} '{path}'", path]
        for what, path in (
            ("open", "none/a.txt"),
            ("rmdir", "none"),
            ("scandir", f"{HOME}/none"),
        )
    ]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (
            "fs.writeFileSync('/outside.txt', '')",
            "fs.writeFileSync outside of the folder of the run",
        ),
        ("fs.writeFileSync('../a.txt', '')", "fs.writeFileSync outside of the folder of the run"),
        ("await fsp.mkdir('/outside')", "fs.promises.mkdir outside of the folder of the run"),
        (
            "fs.openSync('/outside.txt', 'a')",
            "fs.openSync for writing outside of the folder of the run",
        ),
        (
            "fs.copyFileSync('given.txt', '/outside')",
            "fs.copyFileSync outside of the folder of the run",
        ),
        (
            "fs.rmSync('data', { recursive: true })",
            "fs.rmSync of a folder that is not the run's own",
        ),
        ("fs.symlinkSync('/etc', 'etc')", "fs.symlinkSync"),
    ],
)
def test_what_is_written_outside_is_refused_by_name(project: Path, code: str, what: str) -> None:
    """Even where the code hides the refusal, nothing is shown by such a run."""
    text = f"{IMPORTS}export async function ask(prompt) {{\n  try {{ {code}; }} catch {{}}\n}}"
    trace = run(subject_of(project, text, dialect="openai-chat"))
    line = text[: text.index("try")].count("\n") + 1
    assert (trace.footer.ending, trace.footer.detail) == ("escape", (f"{what} at app.mjs:{line}",))
    assert sorted(path.name for path in project.parent.iterdir()) == ["project"]
    assert (project / "data" / "rows.txt").exists()


def test_nothing_is_written_while_the_module_is_loaded(project: Path) -> None:
    """There is no run yet, so no folder of one."""
    text = f"{IMPORTS}fs.writeFileSync('a.txt', ''); export const ask = prompt => 'x';"
    with pytest.raises(SubjectError, match=r"it uses fs\.writeFileSync while it is loaded"):
        subject_of(project, text, dialect="openai-chat")


def test_a_disk_that_fails_shows_nothing(project: Path) -> None:
    """Node writes past the simulated disk, so no rule of it can be met: that is said."""
    subject = subject_of(project, "export const ask = prompt => 'x';", dialect="openai-chat")
    trace = run(subject, world(disk={"unsynced": "nothing"}))
    assert trace.footer.ending == "escape"
    assert "the disk of the scenario" in trace.footer.detail[0]


def test_each_run_begins_with_an_empty_folder(project: Path) -> None:
    """What one run has written, no other one finds."""
    text = f"""{IMPORTS}export async function ask(prompt) {{
      fs.appendFileSync('count.txt', 'x');
      return fs.readFileSync('count.txt', 'utf8');
    }}"""
    subject = subject_of(project, text, dialect="openai-chat")
    assert [end_of(run(subject))["text"] for _ in range(2)] == ["x", "x"]


# ---------------------------------------------------------------------- lives


#: An agent that keeps a journal, and prints it each time that it is asked.
JOURNAL = """instructions: () => {
    const path = join(homedir(), 'journal.txt');
    appendFileSync(path, 'asked;');
    try { unlinkSync('given.txt'); appendFileSync(path, 'removed;'); } catch {}
    console.log(readFileSync(path, 'utf8'));
    return 'You help.';
  },"""
USES = """
import { appendFileSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path'; import { homedir } from 'node:os';
"""


@needs_packages
@pytest.mark.parametrize(
    "scenario", ["resume-drift/closed-session-is-resumed", "approvals/crash-while-open"]
)
def test_a_later_life_finds_what_an_earlier_one_has_written(project: Path, scenario: str) -> None:
    """After an end and after a crash, in equal bytes in every process."""
    text = USES + (CLIENTS / "openai-agents.mjs").read_text("utf-8")
    text = text.replace("instructions: 'You help.',", JOURNAL)
    folder_with(project, agent=text)
    subject = prepare(f"{project}/agent.mjs@openai-responses")
    first, second = (
        run_one(shipped_scenario(scenario), subject, 0, isolate=True) for _ in range(2)
    )
    assert first.footer.ending == "completed"
    assert list(trace_lines(first)) == list(trace_lines(second))
    _, resumed = first.of_kind("process.started")
    assert first.notes is not None
    journals = [item.text for item in first.notes.output]
    assert journals[0] == "asked;removed;"
    assert journals == [f"{journals[0]}{'asked;' * n}" for n in range(len(journals))]
    assert first.notes.output[-1].at_ns >= resumed.at_ns > first.notes.output[0].at_ns
    assert (project / "given.txt").exists()
