"""What each source database brings of its own."""

from cdc.dialect import Dialect
from connectors import mariadb, mongodb, mysql, oracle, postgres, sqlserver

_DATABASES = (postgres, mysql, mariadb, sqlserver, oracle, mongodb)
DIALECTS: dict[str, Dialect] = {database.DIALECT.name: database.DIALECT for database in _DATABASES}

__all__ = ["DIALECTS"]
