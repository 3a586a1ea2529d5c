"""What each source database brings of its own."""

from connectors import mariadb, mysql, postgres

DIALECTS = {dialect.name: dialect for dialect in (postgres.DIALECT, mysql.DIALECT, mariadb.DIALECT)}

__all__ = ["DIALECTS"]
