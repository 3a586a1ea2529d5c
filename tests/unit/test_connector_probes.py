"""What asking a source database itself promises, one test for all of them."""

import pickle
import sys
from importlib import import_module

import pytest

from cdc.dialect import Dialect
from cdc.errors import DriverMissingError, SourceUnreachableError
from connectors import DIALECTS
from connectors.database_url import read_database_url

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
SCHEMES = {
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlserver": "mssql",
    "oracle": "oracle",
    "mongodb": "mongodb",
}
DRIVERS = {"sqlserver": "pymssql", "oracle": "oracledb", "mongodb": "pymongo"}


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """MongoDB's driver asks again and again until the time is over."""
    monkeypatch.setattr(import_module("connectors.mongodb.probe"), "ANSWER_SECONDS", 0.2)


@every_dialect
def test_a_database_that_does_not_answer_is_a_deliberate_error(dialect: Dialect) -> None:
    with pytest.raises(SourceUnreachableError) as raised:
        dialect.probe(f"{SCHEMES[dialect.name]}://user:se-cret@127.0.0.1:1/shop")

    assert "se-cret" not in str(raised.value) + repr(raised.value)
    assert "\n" not in str(raised.value)


@every_dialect
def test_a_host_that_nobody_knows_is_a_deliberate_error(dialect: Dialect) -> None:
    with pytest.raises(SourceUnreachableError):
        dialect.probe(f"{SCHEMES[dialect.name]}://user:se-cret@nowhere.invalid/shop")


@every_dialect
@pytest.mark.parametrize(
    "address",
    [
        "user:se-cret@127.0.0.1:x/shop",
        "user:se-cret@127.0.0.1:99999/shop",
        "user:se/cret@127.0.0.1:1/shop",
        "user:se%cret@127.0.0.1:1/shop",
        "user:se/c%ret@127.0.0.1:1/shop",
        "user:se@cr:et@127.0.0.1:1/shop",
        "user:[secret@127.0.0.1:1/shop",
    ],
)
def test_a_malformed_address_shows_no_piece_of_the_password(dialect: Dialect, address: str) -> None:
    with pytest.raises(SourceUnreachableError) as raised:
        dialect.probe(f"{SCHEMES[dialect.name]}://{address}")

    shown = str(raised.value).replace("source", "").replace("user:password", "")
    assert not any(piece in shown for piece in ("se-cret", '"se', "'se", "%cret", "cr:et", "c%ret"))


@pytest.mark.parametrize("name", DRIVERS)
def test_a_missing_driver_is_named_with_the_way_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, DRIVERS[name], None)

    with pytest.raises(DriverMissingError) as raised:
        DIALECTS[name].probe(f"{SCHEMES[name]}://user:se-cret@127.0.0.1:1/shop")

    assert (raised.value.package, raised.value.extra) == (DRIVERS[name], name)
    assert f"database-mirror[{name}]" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_an_address_has_its_escaped_characters_back() -> None:
    address = read_database_url("mssql://us%40er:p%2Fw@db.example/my%20shop", "SQL Server", 1433)

    assert (address.user, address.password) == ("us@er", "p/w")
    assert (address.hostname, address.port, address.database) == ("db.example", 1433, "my shop")
    assert "p/w" not in repr(address)
