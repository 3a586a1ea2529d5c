"""Raw columns to the values they stand for, a whole column at a time.

Debezium writes what JSON and Avro have no word for as numbers, texts and bytes, and names the
meaning in the schema. A conversion here goes from that raw column to the column's type in the
table; it rounds, cuts and shifts nothing, and refuses what does not fit.
"""

from cdc.decode.values.conversion import convert
from cdc.decode.values.digests import digests
from cdc.decode.values.substitutes import fallback, surely_unfit

__all__ = ["convert", "digests", "fallback", "surely_unfit"]
