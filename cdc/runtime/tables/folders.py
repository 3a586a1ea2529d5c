"""The folders of mirrored tables: each of them is one table's alone."""

from cdc.commit import IcebergCatalog, IcebergTable
from cdc.config import CatalogConfig, CatalogType
from cdc.errors import SharedFolderError
from cdc.model import TableName
from cdc.schema import check_alone, table_folder, table_location


class Folders:
    """Chooses the folders of one mirror's tables, and sees that no other table is in them.

    An SQL database keeps the tables of a mirror under the mirror's name. So two mirrors can each
    have a table of the same name there, and if their warehouse is one, in the same folder.

    Of two mirrors that make such tables at once, neither finds the other's before it has made its
    own. So it looks again afterwards: the later one sees the earlier one's then, or each the
    other's, and who does takes its own back. One that is killed before it looks again does so when
    it next opens the table.
    """

    def __init__(self, settings: CatalogConfig, catalog: IcebergCatalog) -> None:
        self._catalog = catalog
        # Where there is none, the catalog's server decides.
        self._warehouse = settings.warehouse if settings.type is CatalogType.SQL else None

    def location(self, name: TableName) -> str | None:
        """Choose the folder of a new table, or leave it to the catalog.

        Raises:
            SharedFolderError: There is a table in that folder.
        """
        if self._warehouse is None:
            return None
        self._check(name, table_folder(self._warehouse, name))
        return table_location(self._warehouse, name)

    def check(self, table: IcebergTable) -> None:
        """See that a table is alone in its folder; one without any commit is taken back if not.

        Raises:
            SharedFolderError: It is not.
        """
        if self._warehouse is None:
            return
        try:
            self._check(table.name, table.location)
        except SharedFolderError:
            if table.snapshot_id is None:
                self._catalog.withdraw(table)
            raise

    def _check(self, name: TableName, folder: str) -> None:
        check_alone(name, folder, self._catalog.namesakes(name))
