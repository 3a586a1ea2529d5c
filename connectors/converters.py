"""How a Debezium connector writes its messages."""


def _json(side: str) -> dict[str, str]:
    return {
        f"{side}.converter": "org.apache.kafka.connect.json.JsonConverter",
        f"{side}.converter.schemas.enable": "true",
        # By default a null in a column with a default value is sent as that value.
        f"{side}.converter.replace.null.with.default": "false",
    }


JSON_WITH_SCHEMAS = _json("key") | _json("value")
