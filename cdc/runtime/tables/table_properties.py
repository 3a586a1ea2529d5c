"""What every table is made with."""

TABLE_PROPERTIES = {
    "write.format.default": "parquet",
    "write.parquet.compression-codec": "zstd",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # The batch's files go as they are; sorting them by partition first would shuffle for nothing.
    "write.merge.distribution-mode": "none",
    # Beside a compaction a commit is tried again until it is on top; the first waits are short.
    "commit.retry.num-retries": "10",
    "commit.retry.max-wait-ms": "5000",
    # Every commit leaves a metadata file behind.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}
