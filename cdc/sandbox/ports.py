"""Free ports on the loopback interface."""

import random
import socket

LOOPBACK = "127.0.0.1"

# Below the range that the kernel gives to outgoing connections (from 32768 on Linux): a port of
# that range could be taken while its server restarts, or a retrying client could connect to itself.
_CANDIDATES = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return distinct ports on which nothing listens at the moment."""
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_CANDIDATES)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
