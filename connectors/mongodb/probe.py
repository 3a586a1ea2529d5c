"""Whether a MongoDB server answers and can be a source."""

import re
from typing import Any

from cdc.errors import DriverMissingError, SourceUnreachableError

ANSWER_SECONDS = 10
SHARDED = "isdbgrid"


def probe(url: str) -> str:
    """Connect and tell what was found.

    Raises:
        DriverMissingError: The client library is not installed.
        SourceUnreachableError: It does not answer, refuses the login, or has no change streams.
    """
    try:
        import pymongo
        import pymongo.errors
    except ImportError as error:
        raise DriverMissingError("MongoDB", "pymongo", "mongodb") from error

    wait = ANSWER_SECONDS * 1000
    try:
        client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            url, serverSelectionTimeoutMS=wait, timeoutMS=wait
        )
        with client:
            hello = client.admin.command("hello")
            version = client.server_info()["version"]
    except (pymongo.errors.PyMongoError, ValueError) as error:
        # The timeouts and the state of every server follow.
        raise SourceUnreachableError("MongoDB", re.split(r" \(|, ", str(error))[0]) from error
    if "setName" in hello:
        return f"MongoDB {version}, replica set {hello['setName']}"
    if hello.get("msg") == SHARDED:
        return f"MongoDB {version}, sharded cluster"
    raise SourceUnreachableError(
        "MongoDB", "it is a standalone server, which has no change streams; make it a replica set"
    )
