"""The process from which Spark forks its Python workers, made cheap to use.

Before each task a worker drops all import caches, and on Python 3.11 that reads the directory of
every zip file on the path again: a fifth of a second for a task that does nothing. No zip file
changes while a mirror runs, so the step is left out. What tasks import is imported here once and
shared by forking.
"""

import zipimport

from pyspark import daemon

zipimport.zipimporter.invalidate_caches = lambda self: None  # type: ignore[method-assign]

import cdc.runtime.task.write_task  # noqa: E402, F401

if __name__ == "__main__":
    daemon.manager()  # type: ignore[no-untyped-call]
