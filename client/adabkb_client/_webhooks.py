"""What a program that receives messages of webhooks needs."""

import hashlib
import hmac
import json
import re
import time
from typing import Any

SIGNATURE = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def verify_webhook(secret: str, signature: str, body: bytes, max_age: float = 300.0) -> dict[str, Any]:
    """Return the message of a webhook, if the server has sent it.

    Args:
        secret: of the webhook, as ``add_webhook`` has returned it.
        signature: the header ``Adabkb-Signature`` of the request.
        body: of the request, exactly as it came.
        max_age: seconds for which a message is good, so that nobody sends it again later.

    Raises:
        ValueError: it is signed with another secret, was changed on its way, or is too old.
    """
    found = SIGNATURE.fullmatch(signature)
    if found is None:
        raise ValueError("the header Adabkb-Signature is not one of a webhook")
    expected = hmac.new(secret.encode(), found[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, found[2]):
        raise ValueError("the message is signed with another secret, or was changed on its way")
    if abs(time.time() - int(found[1])) > max_age:
        raise ValueError(f"the message is more than {max_age:g} s old, or the clocks differ")
    message: dict[str, Any] = json.loads(body)
    return message
