"""How things are shown: progress, status, column history, quarantine, comparison."""

from cdc.observe.progress import BatchProgress, RunSummary

__all__ = ["BatchProgress", "RunSummary"]
