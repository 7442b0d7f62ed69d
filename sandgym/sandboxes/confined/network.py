"""A network in which everything but the sandbox itself is a black hole.

Invariant: connections to this machine's loopback work as usual, since they end in the
sandbox; what is sent anywhere else is dropped, so that it times out and is not refused.

The default route leads to the loopback device, whose packets to foreign addresses the
kernel drops. Messages are those of rtnetlink(7).
"""

from __future__ import annotations

import socket
import struct

_ADDRESS = bytes((10, 0, 2, 15))  # foreign addresses need a source that is not the loopback's
_LOOPBACK = 1
_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE = 16, 20, 24
_REQUEST_ACK, _CREATE = 0x5, 0x400
_UP = 1


def black_hole() -> None:
    """Set up the loopback device and the route of this process's network namespace."""
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, _LOOPBACK, _UP, _UP)
    address = struct.pack("=BBBBi", socket.AF_INET, 32, 0, 0, _LOOPBACK)
    route = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 3, 253, 1, 0)  # main table, static, link, unicast
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        _ask(netlink, _NEW_LINK, 0, link)
        _ask(netlink, _NEW_ADDRESS, _CREATE, address + _attribute(1, _ADDRESS) + _attribute(2, _ADDRESS))
        _ask(netlink, _NEW_ROUTE, _CREATE, route + _attribute(4, struct.pack("=i", _LOOPBACK)))


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value


def _ask(netlink: socket.socket, kind: int, flags: int, body: bytes) -> None:
    netlink.send(struct.pack("=IHHII", 16 + len(body), kind, flags | _REQUEST_ACK, 1, 0) + body)
    answer = netlink.recv(4096)
    (error,) = struct.unpack_from("=i", answer, 16)
    if error:
        raise OSError(-error, f"rtnetlink message {kind} failed")
