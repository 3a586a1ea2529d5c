"""How tables follow their source: what is to be done, and the doing of it."""
