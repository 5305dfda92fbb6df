"""Requests that the server sends to an address that a user gave.

Such an address must not lead into the server's own network, whatever its name resolves to at the moment. So the name is
resolved once, each of its addresses is checked, and the connection goes to an address that was checked. Redirects are
not followed, no proxy is asked, and of the answer nothing but the status is used.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from adabkb_service.errors import AdaBKBError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

TRANSLATED = ip_network("64:ff9b::/96")
"""Addresses that lead to an IPv4 address, which is the end of them (RFC 6052)."""
SECURE = ssl.create_default_context()


class NotSent(AdaBKBError):
    """A request did not get an answer."""


class NotAllowed(NotSent):
    """An address is inside a network that the server may not send to."""


def is_allowed(address: Address, networks: Sequence[Network]) -> bool:
    """Whether requests may go to an address: one that all of the internet can reach, or one in some networks."""
    if any(address in network for network in networks):
        return True
    inner = _inner(address)
    if inner is not None:
        return is_allowed(inner, networks)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for; None if it stands for itself."""
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = None if address.teredo is None else address.teredo[1]
    return address.ipv4_mapped or address.sixtofour or teredo


def check_literal(url: str, networks: Sequence[Network]) -> None:
    """Refuse an address that names a machine inside the network by its number.

    Raises:
        NotAllowed: it does.
    """
    try:
        address = ip_address((urlsplit(url).hostname or "").split("%")[0])
    except ValueError:
        return
    if not is_allowed(address, networks):
        raise NotAllowed(_refusal(address))


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[Network],
    seconds: float,
    opened: list[socket.socket],
) -> int:
    """Send a request, and return the status of its answer.

    Args:
        url: where to.
        body: what is sent.
        headers: of the request.
        networks: inside the server's own network that may be sent to.
        seconds: in which all of it has to happen, once the name is resolved.
        opened: gets the connection, which ``shut`` ends from another thread.

    Raises:
        NotAllowed: the name leads to an address that is not allowed.
        NotSent: there is no answer.
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    address = _resolved(parts.hostname or "", port, networks)
    deadline = threading.Timer(seconds, shut, (opened,))
    deadline.daemon = True
    deadline.start()
    try:
        return _sent(parts, (str(address), port), body, headers, seconds, opened)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSent(_reason(error)) from error
    finally:
        deadline.cancel()
        shut(opened)


def _resolved(host: str, port: int, networks: Sequence[Network]) -> Address:
    """The first address of a host, all of whose addresses are allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"the host name {host} cannot be resolved") from error
    addresses = [ip_address(str(each[4][0]).split("%")[0]) for each in found]
    for address in addresses:
        if not is_allowed(address, networks):
            raise NotAllowed(_refusal(address))
    return addresses[0]


def _refusal(address: Address) -> str:
    return f"{address} is not a public internet address, and the server's setting webhook_networks does not allow it"


def _sent(
    parts: SplitResult,
    address: tuple[str, int],
    body: bytes,
    headers: Mapping[str, str],
    seconds: float,
    opened: list[socket.socket],
) -> int:
    """The status of the answer to a request, which is sent to an address that was checked."""
    opened.append(socket.create_connection(address, seconds))
    if parts.scheme == "https":
        opened.append(SECURE.wrap_socket(opened[0], server_hostname=parts.hostname))
    connection = http.client.HTTPConnection(parts.hostname or "", address[1], timeout=seconds)
    connection.sock = opened[-1]
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    connection.request("POST", path, body, {**headers, "Host": parts.netloc, "Connection": "close"})
    return connection.getresponse().status


def shut(opened: Sequence[socket.socket]) -> None:
    """End connections, whoever waits for them."""
    for each in opened:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


def _reason(error: Exception) -> str:
    """Why there is no answer, in words that tell nothing of what answers there."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return "no secure connection: the certificate is not valid for this name, or the host does not use TLS"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    return "the connection failed, or ended without an HTTP answer"
