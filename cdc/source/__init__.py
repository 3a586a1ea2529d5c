"""The topics of a mirror, and the stream of their records."""
