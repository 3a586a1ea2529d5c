"""Files that are downloaded once: a cache of locked jars, for Spark and for the sandbox."""
