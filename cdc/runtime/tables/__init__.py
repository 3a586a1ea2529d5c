"""The open tables of a run: what they are, what they have, how they are committed."""
