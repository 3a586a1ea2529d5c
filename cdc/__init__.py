"""database-mirror: every table of a database as an Apache Iceberg table."""

__version__ = "0.1.0"
