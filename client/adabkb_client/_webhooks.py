"""Verification of the messages that webhooks receive."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, max_age: float = 300.0) -> dict[str, Any]:
    """Return the message of a webhook, if the server sent it: see Standard Webhooks 1.0 (standardwebhooks.com).

    Args:
        secret: the secret of the webhook, as ``add_webhook`` returned it.
        headers: the headers of the request, with names in any case.
        body: the body of the request, exactly as received.
        max_age: the maximum age of a message in seconds. A recorded message could be sent again during this time; to
            prevent that, also refuse repeated ``webhook-id``.

    Raises:
        ValueError: a header is missing or invalid, no signature matches, or the message is too old.
    """
    given = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if name not in given]
    if missing or not given[TIMESTAMP].isdecimal():
        raise ValueError(
            f"the request has no valid header {', '.join(missing) or TIMESTAMP}, so it is not a webhook message"
        )
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{given[ID]}.{given[TIMESTAMP]}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    if not any(hmac.compare_digest(expected, each) for each in given[SIGNATURE].split()):
        raise ValueError("the message was signed with another secret, or changed in transit")
    if abs(time.time() - int(given[TIMESTAMP])) > max_age:
        raise ValueError(f"the message is more than {max_age:g} s old, or the clocks differ")
    message: dict[str, Any] = json.loads(body)
    return message
