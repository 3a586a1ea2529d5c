"""The demo: a real shop database, mirrored while it changes, and compared value by value."""

from cdc.demo.run import run_demo

__all__ = ["run_demo"]
