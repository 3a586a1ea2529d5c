"""The loop: a Spark session, its start from the ledgers, and batch after batch."""
