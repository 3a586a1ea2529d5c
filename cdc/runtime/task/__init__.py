"""Step 2 of a batch, on the executors: no Spark SQL and no Java here."""
