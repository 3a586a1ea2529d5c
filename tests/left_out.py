"""The tests that `make test` and `make test-fast` leave out, and why.

`make test` runs what is not marked `full`, `make test-fast` the unit tests that are not marked
`slow`, and `make test-all` every test. A test is marked by its id, here and nowhere else; only the
cells of the two matrices, `conformance` and `evolution`, are chosen where they are made.
"""

import re

BEYOND_THE_SAMPLE = "a cell of a matrix of which `make test` has a sample"
BESIDE_CONFORMANCE = "tests/conformance plays every mode with every way to replace rows"
AS_A_BATCH = "a replay replaces rows as a batch does, and the other ways stay"

# What tests other people's servers, packaging or luck, and the long form of what has a short one.
FULL = {
    r"tests/chaos/": "thousands of random statements: a search, not the proof of a promise",
    r"tests/integration/test_image_steps\.py": "packaging: installs the program a second time",
    r"tests/integration/test_sandbox\.py": (
        "the servers themselves, as every other test here uses them, started a second time"
    ),
    r"tests/integration/.*\[(.*-)?mysql(-.*)?\]": (
        "a server more to fetch and to start, for the code that MariaDB runs too"
    ),
    r"tests/integration/test_demo\.py::test_a_demo_that_is_cut_off": (
        "the guard that ends the servers is tested in tests/unit/test_sandbox_guard.py"
    ),
    r"tests/integration/test_demo\.py::test_the_spark_lines": "Spark's own shell, once more",
    r"tests/integration/test_kill\.py::test_mirror_killed_before_and_after_each_step": (
        "every death twice: after a step is before the next; the short form has each once"
    ),
    r"tests/integration/test_kill\.py::test_mirror_killed_at_any_moment": (
        "moments between the numbered steps, as they come"
    ),
    r"tests/integration/test_mirror\.py::.*\[equality\]": (
        "equality deletes from a real database are in the test of small batches"
    ),
    r"tests/integration/test_quarantine\.py::.*\[100000\]": "ten times the rows of the short form",
    r"tests/integration/test_source_tables\.py::test_a_table_that_is_renamed_while.*\[mariadb": (
        "what MariaDB tells of a rename is in the test of one while the mirror was down"
    ),
    r"tests/integration/test_source_tables\.py::test_a_dropped_table.*\[mariadb": (
        "what the catalog no longer has, it no longer has in both databases"
    ),
    r"tests/integration/test_source_tables\.py::test_a_table_that_was_seen.*\[mariadb": (
        "what the catalog no longer has, it no longer has in both databases"
    ),
    r"tests/integration/test_two_mirrors\.py::test_two_mirrors_never_have": (
        "four runs; each refusal is in tests/spark/test_shared_folder.py and test_second_mirror.py"
    ),
    r"tests/spark/test_evolution\.py::(?!.*_keys?_).*\[(.*-)?equality": (
        "columns are followed before rows are replaced, and no key is among them"
    ),
    r"tests/spark/test_modes\.py::.*\[(merge|vectors)\]": BESIDE_CONFORMANCE,
    r"tests/spark/test_new_snapshots\.py::.*\[(merge|vectors)\]": BESIDE_CONFORMANCE,
    r"tests/spark/test_replay\.py::test_(a_newer|of_several).*\[(merge|vectors)\]": AS_A_BATCH,
    r"tests/spark/test_replay_beside\.py::.*\[merge\]": AS_A_BATCH,
    r"tests/spark/test_replay_modes\.py::.*\[(.*-merge|append-equality)\]": AS_A_BATCH,
    r"tests/fuzz/.*\[10000\]": "five times the messages of the short form",
}

# Unit tests that start processes, wait for a time to pass, or try thousands of made-up values.
SLOW = {
    r"tests/unit/test_cli_start\.py": "starts the command",
    r"tests/unit/test_check\.py::test_check_loads_no_spark": "starts a process",
    r"tests/unit/test_status\.py::test_status_loads_no_spark": "starts a process",
    r"tests/unit/test_status\.py::test_kafka_that_does_not_answer": "waits for an answer",
    r"tests/unit/test_sandbox_(cache|guard|parts)\.py": "starts processes, and waits for their end",
    r"tests/unit/test_makefile\.py": "starts make",
    r"tests/unit/test_decode_hostile\.py::test_damaged_bytes": "thousands of made-up messages",
    r"tests/unit/test_decode_avro_property\.py": "thousands of made-up messages",
    r"tests/unit/test_decode_avro_messages\.py::test_a_damaged_message": "many made-up messages",
    r"tests/unit/test_decode_avro_messages\.py::test_a_process_forked": "starts processes",
    r"tests/unit/test_decode_refusals\.py::test_a_payload_of_null": "starts processes",
    r"tests/unit/test_write_partitions\.py::test_(every_row|a_thousand)": "made-up rows",
    r"tests/unit/test_write_transforms\.py::test_a_transform_gives_what": "made-up values",
    r"tests/unit/test_partition_grammar\.py::test_any_other_text": "made-up texts",
    r"tests/unit/test_index_cache\.py::test_every_single_flipped_bit": "thousands of bits",
    r"tests/unit/test_index_cache\.py::test_many_processes": "starts processes",
    r"tests/unit/test_index_model\.py": "made-up keys by the thousand",
    r"tests/unit/test_captures\.py": "decodes every recording in every form",
    r"tests/unit/test_connector_probes\.py::test_a_(database|host)_that": "waits for an answer",
}

_MARKS = {
    name: {re.compile(pattern): reason for pattern, reason in table.items()}
    for name, table in (("full", FULL), ("slow", SLOW))
}


def reason_of(test: str) -> dict[str, str]:
    """Say by which marks a test is left out, and why."""
    found = {}
    for name, table in _MARKS.items():
        reasons = [reason for pattern, reason in table.items() if pattern.match(test)]
        if reasons:
            found[name] = reasons[0]
    return found
