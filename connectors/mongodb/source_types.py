"""What MongoDB's messages hold, for the types page."""

from cdc.dialect import DocumentedType
from cdc.model import SourceType, logical

SOURCE_TYPES = (
    DocumentedType(
        "_id",
        SourceType("string"),
        note="The column `id`: JSON text, so a text has quotes and an ObjectId is an object.",
    ),
    DocumentedType(
        "document",
        SourceType("string", logical.JSON),
        note="The column `document`: extended JSON as sent, in the form that "
        "json.serialization.mode asks for.",
    ),
)
