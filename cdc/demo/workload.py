"""What happens in the shop while it is mirrored: all that a mirror has to follow."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from cdc.demo.shop import Sizes

SEED: Final = 20240229
ROUNDS: Final = 15
ROUND_SECONDS: Final = 1.2
NEW_KEYS: Final = 1_000_000_000  # far above all others

# The last change of each table: to one row, so that a mirror either has it or has it not.
LAST_CHANGES: Final[dict[str, LiteralString]] = {
    "customers": "UPDATE customers SET vip = NOT vip WHERE id = (SELECT max(id) FROM customers)",
    "products": "UPDATE products SET price = price + 1 WHERE id = (SELECT max(id) FROM products)",
    "orders": "UPDATE orders SET note = 'fertig ✓' WHERE id = (SELECT max(id) FROM orders)",
    "order_items": """
        UPDATE order_items SET quantity = quantity + 1
        WHERE (order_id, line) = (SELECT order_id, line FROM order_items ORDER BY 1 DESC, 2 LIMIT 1)
    """,
    "payments": """
        UPDATE payments SET details = '{"last": true}'
        WHERE id = (SELECT id FROM payments ORDER BY id LIMIT 1)
    """,
}
NOW: Final[LiteralString] = (
    "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, clock_timestamp()"
)


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change that a table saw: from which log position on, and when by its own clock."""

    position: int
    at: datetime


class Workload:
    """Changes the shop, in rounds of several transactions.

    Args:
        connection: To the shop, in autocommit: every transaction here is explicit.
        sizes: The rows that the shop began with; the more, the more change in a round.
        tell: Receives a line about each thing that happens only once.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], sizes: Sizes, tell: Callable[[str], None]
    ) -> None:
        self._connection = connection
        self._random = random.Random(SEED)
        self._many = max(2, sizes.total // 1000)
        self._customers = list(range(1, sizes.customers + 1))
        self._orders = list(range(1, sizes.orders + 1))
        self._products = sizes.products
        self._channel = False
        self._tell = tell
        self._events = {
            3: self._change_keys,
            6: self._add_column,
            9: self._truncate_payments,
            11: self._change_keys,
        }
        self.counts: Counter[str] = Counter()

    def run(self, show: Callable[[int], None]) -> dict[str, LastChange]:
        """Run all rounds, at their pace, and return the last change of each table.

        Args:
            show: Is told the number of each round that is over.
        """
        for number in range(1, ROUNDS + 1):
            due = time.monotonic() + ROUND_SECONDS
            for step in (
                self._place_orders,
                self._move_orders_on,
                self._cancel_orders,
                self._edit_customers,
                self._change_prices,
                self._think_better_of_it,
            ):
                with self._connection.transaction():
                    step()
            if number in self._events:
                with self._connection.transaction():
                    self._events[number]()
            show(number)
            time.sleep(max(0.0, due - time.monotonic()))
        return {table: self._change_last(change) for table, change in LAST_CHANGES.items()}

    def _place_orders(self) -> None:
        """Insert orders with their items and payments, and set the totals once they are known."""
        for _ in range(self._many):
            order = self._insert_order()
            total = sum(self._insert_item(order, line) for line in range(1, self._pick(1, 4)))
            self._do("updates", "UPDATE orders SET total = %s WHERE id = %s", [total / 100, order])
            if self._pick(0, 3):
                self._insert_payment(order, total)

    def _move_orders_on(self) -> None:
        chosen = self._random.sample(self._orders, min(len(self._orders), 3 * self._many))
        self._do(
            "updates",
            """
            UPDATE orders
            SET status = 'sent', shipped_at = timestamp '2025-06-01' + id * interval '1.5 s'
            WHERE id = ANY(%s)
            """,
            [chosen],
        )
        # Once more within the transaction: only the last value may arrive.
        self._do("updates", "UPDATE orders SET note = NULL WHERE id = ANY(%s)", [chosen[::2]])

    def _cancel_orders(self) -> None:
        """Delete orders; their items and payments go with them."""
        for _ in range(min(self._many, len(self._orders) - 1)):
            gone = self._orders.pop(self._pick(0, len(self._orders) - 1))
            self._do("deletes", "DELETE FROM orders WHERE id = %s", [gone])

    def _edit_customers(self) -> None:
        for customer in self._random.sample(self._customers, self._many):
            self._do(
                "updates",
                """
                UPDATE customers SET settings = coalesce(settings, '{}') || %s,
                    tags = array_append(tags, %s), email = nullif(email, '')
                WHERE id = %s
                """,
                [Jsonb({"seen": self._pick(100, 999), "näme": "ß"}), "wichtig", customer],
            )

    def _change_prices(self) -> None:
        rest = self._pick(0, 9)
        self._do(
            "updates",
            "UPDATE products SET price = round(price * 1.03, 2), on_sale = NOT on_sale "
            "WHERE id %% 10 = %s",
            [rest],
        )

    def _think_better_of_it(self) -> None:
        """Change a lot and roll it back: nothing of it may ever arrive."""
        with self._connection.transaction(force_rollback=True):
            self._connection.execute("UPDATE customers SET name = 'nobody'")
            self._connection.execute("DELETE FROM payments")
        self.counts["rollbacks"] += 1

    def _change_keys(self) -> None:
        """Give a customer and an order new keys; what refers to them follows by itself."""
        for table, keys in (("customers", self._customers), ("orders", self._orders)):
            place = self._pick(0, len(keys) - 1)
            old, new = keys[place], keys[place] + NEW_KEYS
            keys[place] = new
            statement: dict[str, LiteralString] = {
                "customers": "UPDATE customers SET id = %s WHERE id = %s",
                "orders": "UPDATE orders SET id = %s WHERE id = %s",
            }
            self._do("updates", statement[table], [new, old])
            self._tell(f"a primary key changes: {table} {old} becomes {new}")

    def _add_column(self) -> None:
        self._connection.execute("ALTER TABLE orders ADD COLUMN channel text")
        self._channel = True
        self._tell("ALTER TABLE orders ADD COLUMN channel text; new orders use it")

    def _truncate_payments(self) -> None:
        self._connection.execute("TRUNCATE payments")
        for order in self._random.sample(self._orders, self._many):
            self._insert_payment(order, self._pick(1, 99999))
        self._tell(f"TRUNCATE payments; {self._many} new ones follow in the same transaction")

    def _change_last(self, change: LiteralString) -> LastChange:
        with self._connection.transaction():
            position, _ = self._now()
            self._do("updates", change)
            # Right before the commit: the mirror's delay comes out too long rather than too short.
            return LastChange(position, self._now()[1])

    def _insert_order(self) -> int:
        values: list[Any] = [self._random.choice(self._customers), self._pick(0, 10**9)]
        statement: LiteralString = """
            INSERT INTO orders (customer_id, status, total, placed_at)
            VALUES (%s, 'new', 0, timestamptz '2025-01-01Z' + %s * interval '1 ms') RETURNING id
        """
        if self._channel:
            values.append(self._random.choice(["web", "ladengeschäft", "電話"]))
            statement = """
                INSERT INTO orders (customer_id, status, total, placed_at, channel)
                VALUES (%s, 'new', 0, timestamptz '2025-01-01Z' + %s * interval '1 ms', %s)
                RETURNING id
            """
        order = int(self._do("inserts", statement, values)[0][0])
        self._orders.append(order)
        return order

    def _insert_item(self, order: int, line: int) -> int:
        cents = self._pick(1, 50000)
        self._do(
            "inserts",
            "INSERT INTO order_items VALUES (%s, %s, %s, 1, %s::numeric / 100, %s)",
            [order, line, self._pick(1, self._products), cents, self._random.choice([True, None])],
        )
        return cents

    def _insert_payment(self, order: int, cents: int) -> None:
        self._do(
            "inserts",
            """
            INSERT INTO payments VALUES
            (%s, %s, 'card', %s::numeric / 100, %s, timestamptz '2025-01-01Z', NULL)
            """,
            [
                UUID(int=self._random.getrandbits(128)),
                order,
                cents,
                Jsonb({"try": self._pick(1, 3)}),
            ],
        )

    def _do(
        self, kind: str, statement: LiteralString, values: list[Any] | None = None
    ) -> list[Any]:
        cursor = self._connection.execute(statement, values)
        self.counts[kind] += cursor.rowcount
        return cursor.fetchall() if cursor.description else []

    def _now(self) -> tuple[int, datetime]:
        row = self._connection.execute(NOW).fetchone()
        assert row is not None
        return row[0], row[1]

    def _pick(self, low: int, high: int) -> int:
        return self._random.randint(low, high)
