"""What a certificate is about: digests that anybody can compute, of the code that ran."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from faultclock.certify.artifact import LoadedFile, loaded_code, of_path, of_shipped, ran
from faultclock.certify.trees import digest_of_files, tree_files
from faultclock.errors import InputError

CODE = b"def subject(request): ...\n"


def _tree(root: Path) -> Path:
    for name, content in {
        "adapter.py": CODE,
        "pkg/__init__.py": b"",
        "pkg/b.py": b"B = 1\n",
        "pkg/a-b.txt": b"text",
        ".git/config": b"ignored",
        "__pycache__/adapter.cpython-311.pyc": b"ignored",
        "pkg/stale.pyc": b"ignored",
        "env/pyvenv.cfg": b"ignored",
        "env/lib.py": b"ignored",
        "x.egg-info/PKG-INFO": b"ignored",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def _loaded(path: Path, tail: str | None = None) -> LoadedFile:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return LoadedFile(tail=tail or path.name, path=path.resolve(), digest=digest)


def _wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _sdist(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
    return path


def test_a_tree_is_its_code_and_nothing_that_a_machine_adds(tmp_path: Path) -> None:
    """Version control, caches and environments are no part of it."""
    assert sorted(tree_files(_tree(tmp_path))) == [
        "adapter.py",
        "pkg/__init__.py",
        "pkg/a-b.txt",
        "pkg/b.py",
    ]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="coreutils are not installed")
def test_coreutils_compute_the_digest_of_a_tree(tmp_path: Path) -> None:
    """The command in the docstring of `trees` gives the same, so nobody has to trust us."""
    root = _tree(tmp_path)
    shutil.rmtree(root / "env")
    command = (
        r"find . \( -name '.?*' -o -name __pycache__ -o -name node_modules -o -name '*.egg-info' \)"
        r" -prune -o -type f ! -name '*.py[co]' -printf '%P\0'"
        " | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    )
    said = subprocess.run(
        ["bash", "-c", command], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert said.split()[0] == digest_of_files(tree_files(root)) == of_path(root).digest


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "pkg/b.py").write_text("B = 2\n"),
    "name": lambda root: (root / "pkg/b.py").rename(root / "pkg/c.py"),
    "one file more": lambda root: (root / "pkg/new.txt").write_text(""),
    "one file less": lambda root: (root / "pkg/a-b.txt").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_in_a_tree_changes_its_digest(tmp_path: Path, change: str) -> None:
    """Content, name, one file more, one less."""
    root = _tree(tmp_path)
    before = of_path(root).digest
    CHANGES[change](root)
    assert of_path(root).digest != before


def test_what_no_digest_would_hold_is_refused(tmp_path: Path) -> None:
    """A link leads to what is not in the tree; a line break would forge a line of the list."""
    root = _tree(tmp_path / "a")
    (root / "link").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="symbolic link"):
        of_path(root)
    other = tmp_path / "b"
    other.mkdir()
    (other / "x\n0  y").write_text("")
    with pytest.raises(InputError, match="line break"):
        of_path(other)
    (tmp_path / "c").mkdir()
    with pytest.raises(InputError, match="holds no file"):
        of_path(tmp_path / "c")
    with pytest.raises(InputError, match="no such file"):
        of_path(tmp_path / "d")


def test_a_tree_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """Somebody named their home folder."""
    with pytest.raises(InputError, match="more than 3 files"):
        tree_files(_tree(tmp_path), files_max=3)


def test_code_that_ran_is_in_the_tree(tmp_path: Path) -> None:
    """And what is noted is which files of it."""
    root = _tree(tmp_path)
    loaded = (_loaded(root / "adapter.py"), _loaded(root / "pkg/b.py"))
    assert ran(of_path(root), loaded, root=root).loaded == ("adapter.py", "pkg/b.py")


@pytest.mark.parametrize(
    ("name", "packed"), [("a-1-py3-none-any.whl", _wheel), ("a-1.tar.gz", _sdist)]
)
def test_a_package_has_to_hold_the_very_code_that_ran(
    tmp_path: Path, name: str, packed: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    """A certificate of a package that holds another adapter would be one of nothing."""
    root = _tree(tmp_path / "src")
    item = _loaded(root / "pkg/b.py", "pkg/b.py")
    prefix = "a-1/src/" if name.endswith(".gz") else ""
    good = packed(tmp_path / name, {f"{prefix}pkg/b.py": b"B = 1\n"})
    assert ran(of_path(good), (item,), root=None).loaded == (f"{prefix}pkg/b.py",)
    bad = packed(tmp_path / name, {f"{prefix}pkg/b.py": b"B = 2\n"})
    with pytest.raises(InputError, match=r"holds another b\.py than the one that ran"):
        ran(of_path(bad), (item,), root=None)
    other = packed(tmp_path / name, {f"{prefix}other/pkg_b.py": b"B = 1\n"})
    with pytest.raises(InputError, match="is not in"):
        ran(of_path(other), (item,), root=None)


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    """Neither noise nor a package with a name twice in it is digested."""
    for name in ("x.whl", "x.tar.gz"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 noise")
        with pytest.raises(InputError, match="this is no"):
            of_path(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "y.whl", "w") as made:
        made.writestr("a.py", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a.py", "2")
    with pytest.raises(InputError, match="twice"):
        of_path(tmp_path / "y.whl")


def test_a_link_in_an_sdist_is_refused(tmp_path: Path) -> None:
    """What it leads to is not in it."""
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        item = tarfile.TarInfo("x/adapter.py")
        item.type, item.linkname = tarfile.SYMTYPE, "/tmp/adapter.py"
        archive.addfile(item)
    with pytest.raises(InputError, match="neither a file nor a folder"):
        of_path(tmp_path / "x.tar.gz")


def test_a_helper_beside_the_file_is_code_that_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file alone would not be what was certified."""
    (tmp_path / "helper_of_certify.py").write_bytes(b"X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(sys.modules)
    __import__("helper_of_certify")
    try:
        loaded = loaded_code(before, None)
        assert [item.tail for item in loaded] == ["helper_of_certify.py"]
        (tmp_path / "adapter.py").write_bytes(CODE)
        with pytest.raises(InputError, match=r"helper_of_certify\.py ran, and is not in adapter"):
            ran(of_path(tmp_path / "adapter.py"), loaded, root=tmp_path / "adapter.py")
    finally:
        del sys.modules["helper_of_certify"]


def test_a_cached_module_that_is_not_its_source_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python runs an unchecked cache whatever the source beside it says."""
    import importlib.util
    import py_compile

    source = tmp_path / "cached_of_certify.py"
    source.write_bytes(b"X = 'bad'\n")
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    source.write_bytes(b"X = 'good'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(sys.modules)
    module = __import__("cached_of_certify")
    try:
        assert module.X == "bad"
        assert importlib.util.find_spec("cached_of_certify")
        with pytest.raises(InputError, match="what ran is not what"):
            loaded_code(before, None)
    finally:
        del sys.modules["cached_of_certify"]


def test_a_shipped_subject_is_the_package_that_holds_it() -> None:
    """Its digest does not depend on which of them is certified."""
    reference = of_shipped("reference")
    assert reference.name == "faultclock/reference"
    assert reference.digest == of_shipped("reference-tool").digest
    assert "agents/adapter.py" in reference.files
    assert not any("__pycache__" in name for name in reference.files)
