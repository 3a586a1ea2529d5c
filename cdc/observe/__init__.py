"""What a mirror says about itself."""

from cdc.observe.progress import BatchProgress, RunSummary

__all__ = ["BatchProgress", "RunSummary"]
