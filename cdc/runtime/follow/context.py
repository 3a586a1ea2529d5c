"""What all parts of a run share, put together once."""

from dataclasses import dataclass

from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig
from cdc.decode import Wire
from cdc.dialect import Dialect
from cdc.runtime.follow.declared import Declarations
from cdc.runtime.follow.describe import wire_of
from cdc.runtime.follow.source_watch import SourceWatch
from cdc.runtime.tables.mirror_notes import LeftTopics, ParkedNotes
from cdc.runtime.tables.open_tables import OpenTables
from cdc.runtime.tables.quarantine import Quarantine


@dataclass(frozen=True, slots=True)
class MirrorContext:
    """One run of one mirror: its settings, its source, its catalog, its tables."""

    config: MirrorConfig
    dialect: Dialect
    wire: Wire
    catalog: IcebergCatalog
    quarantine: Quarantine
    parked: ParkedNotes
    left: LeftTopics
    declarations: Declarations
    watch: SourceWatch
    tables: OpenTables
    dry_run: bool = False


def open_context(
    config: MirrorConfig,
    dialect: Dialect,
    catalog: IcebergCatalog,
    *,
    dry_run: bool = False,  # tables that are opened are left as they are
) -> MirrorContext:
    """Open the mirror's own table; no mirrored one is open yet."""
    quarantine = Quarantine(config, catalog, dry_run=dry_run)
    parked, left = ParkedNotes(quarantine), LeftTopics(quarantine)
    return MirrorContext(
        config=config,
        dialect=dialect,
        wire=wire_of(config),
        catalog=catalog,
        quarantine=quarantine,
        parked=parked,
        left=left,
        declarations=Declarations(config, dialect),
        watch=SourceWatch(config, dialect),
        tables=OpenTables(config, catalog, parked, left, dry_run=dry_run),
        dry_run=dry_run,
    )
