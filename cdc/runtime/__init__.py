"""Where the stages meet: rooms in an order, task, tables, follow, stream, replay."""
