"""What a mirrored table, and a mirror, remember: no Spark, no catalog, no Kafka."""
