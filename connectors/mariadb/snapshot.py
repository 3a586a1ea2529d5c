"""Which rows come from a snapshot with which MariaDB's connector began anew: as in MySQL."""

from connectors.mysql.snapshot import SNAPSHOT_FIELDS, fresh

__all__ = ["SNAPSHOT_FIELDS", "fresh"]
