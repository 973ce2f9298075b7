"""Have pytest collect one grader file, and nothing else, and run the loop of a plugin over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.checks.plugin import GradingPlugin
from autograder.errors import KitError
from autograder.model.exercise import GRADERS

_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


def run_graders(plugin: GradingPlugin) -> None:
    """Let pytest collect the grader file of the plugin's exercise and run its loop.

    Raises `KitError` when the file cannot be collected or holds no checks, and MemoryError.
    """
    graders = plugin.reference.exercise.folder.resolve() / GRADERS
    raised: list[KitError | MemoryError] = []
    exit_code = _collected(graders, plugin, raised)
    if raised:
        raise raised[0]
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise KitError(
            f"pytest cannot run the checks ({exit_code!r})",
            place=str(graders),
            cure=f"run `python -m pytest --collect-only {graders}` and correct what it says",
        )


def _collected(graders: Path, plugin: GradingPlugin, raised: list[KitError | MemoryError]) -> int:
    options = "-s --assert=plain --strict-markers --noconftest --import-mode=importlib"
    # Each of them would look at every check of every submission, or write where nobody reads.
    without = (
        "cacheprovider terminal logging warnings faulthandler junitxml unraisableexception "
        "threadexception setuponly setupplan unittest anyio"
    )
    arguments = [*options.split(), "-c", "/dev/null", "--rootdir", str(graders.parent)]
    arguments += [word for name in without.split() for word in ("-p", f"no:{name}")]

    class Errors:
        """Keeps an error that pytest would only print."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
            if isinstance(excinfo.value, KitError | MemoryError):
                raised.append(excinfo.value)
                return True
            return False

    # pytest keeps the file by its bare name, which is the same in every exercise.
    sys.modules.pop(graders.stem, None)
    with _without_pytest_settings():
        return pytest.main([*arguments, str(graders)], plugins=[plugin, Errors()])


@contextmanager
def _without_pytest_settings() -> Iterator[None]:
    """Keep settings that are meant for other uses of pytest from changing the checks."""
    settings = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    kept = {name: os.environ.pop(name, None) for name in (*settings, _AUTOLOAD)}
    os.environ[_AUTOLOAD] = "1"
    try:
        yield
    finally:
        del os.environ[_AUTOLOAD]
        os.environ.update({name: value for name, value in kept.items() if value is not None})
