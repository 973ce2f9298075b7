"""A PostgreSQL server for the tests of this folder.

It has to be installed on the system, so they are not part of `make test`; `make test-postgres` says
so before anything else runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.postgres_server import MISSING, find_postgres, postgres_server


def pytest_configure() -> None:
    if find_postgres() is None:
        raise pytest.UsageError(MISSING)


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database."""
    programs = find_postgres()
    assert programs
    with postgres_server(programs) as address:
        yield address
