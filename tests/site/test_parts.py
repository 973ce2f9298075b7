"""What a browser's Python is made of is fetched whole and as it is pinned, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.site.site_folder import PARTS, PYODIDE_FILES, fetch_parts, missing_parts


def registry(folder: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an npm on the PATH that gives packages in which every file has this content."""
    lines = [f"printf %s '{content}' > node_modules/pyodide/{name}" for name in PYODIDE_FILES]
    bundler = "node_modules/.bin/esbuild"
    script = ["#!/bin/sh", "mkdir -p node_modules/pyodide node_modules/.bin bundled", *lines]
    script += [f"printf '#!/bin/sh\\ntouch bundled/editor.js' > {bundler}", f"chmod +x {bundler}"]
    npm = folder / "npm"
    npm.write_text("\n".join(script) + "\n", encoding="utf-8")
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_file_that_is_not_the_pinned_one_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry(tmp_path, "alert(1)", monkeypatch)
    with pytest.raises(KitError, match="is not the file that is pinned"):
        fetch_parts(tmp_path / "parts")
    assert list((tmp_path / "parts").iterdir()) == []


def test_without_npm_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KitError, match="there is no `npm`") as raised:
        fetch_parts(tmp_path / "parts")
    assert "apt install npm" in raised.value.cure


def test_a_client_that_fails_is_told_with_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry(tmp_path, "", monkeypatch)
    (tmp_path / "npm").write_text("#!/bin/sh\necho 'no network' >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(KitError, match=r"`npm ci .*` fails") as raised:
        fetch_parts(tmp_path / "parts")
    assert raised.value.place == "no network"


def test_what_was_changed_or_taken_away_is_missing(tmp_path: Path) -> None:
    (tmp_path / "pyodide.mjs").write_text("// mine", encoding="utf-8")
    assert missing_parts(tmp_path) == [*PARTS]
