"""The exchanges with an OpenID Connect provider: discovery, authorization code with PKCE, ID token, logout.

Authlib implements OAuth 2.0 and checks the claims of ID tokens; joserfc checks their signatures. Both are imported at
the first login.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from adabkb_service.errors import LoginFailed, LoginRefused, ProviderUnavailable, shown
from adabkb_service.identity.claims import found_at
from adabkb_service.identity.config import ProviderConfig
from adabkb_service.identity.login import AGAIN, Login

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

Metadata = Mapping[str, Any]

KEPT_SECONDS = 3600.0
"""Age in seconds at which the provider's metadata and keys are read again."""
FAILED_SECONDS = 5.0
"""Seconds after a failure during which the provider is not contacted again."""
LEEWAY = 120
"""Seconds by which the clocks of provider and server may differ."""
MAX_LOGINS = 20
"""The maximum number of logins that contact the provider at the same time; further ones wait."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
"""Signature algorithms with public keys. ``none`` means no signature, and HS256 uses shared secrets, so both are
refused."""
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
OPTIONAL = ("userinfo_endpoint", "end_session_endpoint")
EXTRA = "adabkb-service[oidc]"
DISCOVERY = (
    "the setting oidc_issuer: the provider must have a document at this URL followed by "
    "/.well-known/openid-configuration"
)
CLOCKS = "Synchronize both clocks, for example with NTP."


@dataclass(frozen=True, slots=True)
class Authenticated:
    """A person whom the provider has authenticated."""

    claims: Mapping[str, Any]
    id_token: str


class Provider:
    """The OpenID Connect provider of a server. Only the server's event loop uses it.

    Args:
        config: the configuration of the provider.

    Raises:
        ValueError: the packages for OpenID Connect are not installed.
    """

    def __init__(self, config: ProviderConfig) -> None:
        if any(find_spec(name) is None for name in ("authlib", "httpx2", "joserfc")):
            raise ValueError(f"the setting oidc_issuer needs more packages; install them: pip install '{EXTRA}'")
        self.config = config
        self._lock = asyncio.Lock()
        self._exchanges = asyncio.Semaphore(MAX_LOGINS)
        self._metadata: Metadata | None = None
        self._keys: Mapping[str, Any] | None = None
        self._read_at = 0.0
        self._failure: tuple[float, ProviderUnavailable] | None = None

    async def authorization_url(self, login: Login, redirect_uri: str) -> str:
        """Return the address at the provider to which a browser is sent.

        Raises:
            ProviderUnavailable: the provider does not answer, or its answer is not usable.
        """
        metadata = await self.discover()
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=login.state,
                code_verifier=login.verifier,
                nonce=login.nonce,
                redirect_uri=redirect_uri,
            )
        return str(url)

    async def authenticate(
        self, login: Login, answer: Mapping[str, str], redirect_uri: str, now: datetime
    ) -> Authenticated:
        """Exchange the provider's answer for verified claims.

        Args:
            login: the login that this browser began.
            answer: parameters of the provider's redirect.
            redirect_uri: the URI that was sent to the provider.
            now: current time.

        Raises:
            LoginRefused: the provider or the person has refused.
            LoginFailed: the answer or the ID token is not valid.
            ProviderUnavailable: the provider does not answer, or its answer is not usable.
        """
        metadata = await self.discover()
        self._check_answer(answer, metadata)
        async with self._exchanges, self._client(metadata) as client:
            tokens = await self._tokens(client, metadata, login, answer["code"], redirect_uri)
            id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
            if not isinstance(id_token, str):
                raise LoginFailed(
                    "The provider sent no ID token. Ask an administrator to check that the setting oidc_scopes has "
                    "openid, and that the client is one for OpenID Connect.",
                    "login: no ID token",
                )
            claims = await self._verified(client, metadata, id_token, access_token, login.nonce, now)
            claims = await self._completed(client, metadata, claims, access_token)
        return Authenticated(claims, id_token)

    async def logout_url(self, id_token: str | None, return_uri: str) -> str | None:
        """Return the address that logs a person out at the provider; None if the provider has none, or does not
        answer."""
        try:
            metadata = await self.discover()
        except ProviderUnavailable:
            return None
        endpoint = metadata.get("end_session_endpoint")
        if endpoint is None:
            return None
        hint = {} if id_token is None else {"id_token_hint": id_token}
        query = urlencode({**hint, "client_id": self.config.client_id, "post_logout_redirect_uri": return_uri})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def discover(self) -> Metadata:
        """Return the provider's metadata, at most ``KEPT_SECONDS`` old.

        Raises:
            ProviderUnavailable: the provider does not answer, or its answer is not usable.
        """
        async with self._lock:
            now = time.monotonic()
            if self._metadata is not None and now - self._read_at < KEPT_SECONDS:
                return self._metadata
            if self._failure is not None and now - self._failure[0] < FAILED_SECONDS:
                raise self._failure[1]
            try:
                metadata = await self._discovered()
            except ProviderUnavailable as error:
                self._failure = time.monotonic(), error
                raise
            self._metadata, self._keys, self._read_at, self._failure = metadata, None, time.monotonic(), None
            return metadata

    async def _discovered(self) -> Metadata:
        url = f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration"
        async with self._client({}) as client:
            metadata = await self._read(client, url, DISCOVERY)
        issuer = metadata.get("issuer")
        if issuer != self.config.issuer:
            raise ProviderUnavailable(
                f"The setting oidc_issuer is {self.config.issuer!r}, but the provider there has the issuer "
                f"{shown(issuer)}; ask an administrator to set oidc_issuer to exactly that."
            )
        for name in (*NEEDED, *OPTIONAL):
            endpoint = metadata.get(name)
            if (endpoint is not None or name in NEEDED) and not is_secure(endpoint, self.config.issuer):
                raise ProviderUnavailable(
                    f"The provider's metadata at {url} has the {name} {shown(endpoint)}, but an address with https:// "
                    "is needed; ask an administrator to check the setting oidc_issuer, and the provider."
                )
        return metadata

    def _check_answer(self, answer: Mapping[str, str], metadata: Metadata) -> None:
        """Check the redirect of the provider, except for its state."""
        issuer = answer.get("iss")
        needs_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
        if issuer != self.config.issuer and (issuer is not None or needs_issuer):
            raise LoginFailed(f"The answer is from another provider: {shown(issuer)}. {AGAIN}", "login: issuer")
        if error := answer.get("error"):
            description = answer.get("error_description")
            detail = (
                f"The provider refused the login: {shown(error)}{f' ({shown(description)})' if description else ''}."
            )
            if error == "access_denied":
                detail += " You or the provider declined; ask its administrator for access to this application."
            raise LoginRefused(f"{detail} {AGAIN}", "login: refused by the provider")
        if not answer.get("code"):
            raise LoginFailed(f"The provider's answer has no code. {AGAIN}", "login: no code")

    @asynccontextmanager
    async def _client(self, metadata: Metadata) -> AsyncIterator[AsyncOAuth2Client]:
        """Yield a client for one login or discovery, whose exchanges may take ``config.seconds`` in total.

        Raises:
            ProviderUnavailable: the provider does not answer in time.
        """
        import httpx2  # noqa: PLC0415 (needs the extra oidc)
        from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415

        config = self.config
        method = "none"
        if config.client_secret is not None:
            known = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
            method = "client_secret_basic" if "client_secret_basic" in known else "client_secret_post"
        client = AsyncOAuth2Client(
            config.client_id,
            config.client_secret,
            token_endpoint_auth_method=method,
            scope=config.scopes,
            code_challenge_method="S256",
            timeout=config.seconds,
            follow_redirects=False,
        )
        try:
            async with client, asyncio.timeout(config.seconds):
                yield client
        except (httpx2.HTTPError, TimeoutError) as error:
            raise ProviderUnavailable(
                f"The identity provider {config.issuer} does not answer ({type(error).__name__}). Try again in a "
                "minute. Tokens still work. An administrator can check the network, the provider's certificate and the "
                "setting oidc_issuer with adabkb data doctor."
            ) from error

    async def _read(
        self, client: AsyncOAuth2Client, url: str, check: str = "the provider", **headers: str
    ) -> dict[str, Any]:
        """Return a JSON document of the provider.

        Raises:
            ProviderUnavailable: the answer is not a JSON object; the message says what to check, given as ``check``.
        """
        answer = await client.request(
            "GET", url, withhold_token=True, headers={"Accept": "application/json", **headers}
        )
        found = None
        if answer.status_code == 200:
            with suppress(ValueError):
                found = answer.json()
        if not isinstance(found, dict):
            raise ProviderUnavailable(
                f"The identity provider answers {answer.status_code} at {url}, without a JSON document. Ask an "
                f"administrator to check {check}."
            )
        return found

    async def _tokens(
        self, client: AsyncOAuth2Client, metadata: Metadata, login: Login, code: str, redirect_uri: str
    ) -> Mapping[str, Any]:
        from authlib.integrations.base_client import OAuthError  # noqa: PLC0415

        try:
            tokens = await client.fetch_token(
                metadata["token_endpoint"],
                grant_type="authorization_code",
                code=code,
                redirect_uri=redirect_uri,
                code_verifier=login.verifier,
            )
        except OAuthError as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                raise ProviderUnavailable(
                    f"The provider does not accept this server as a client ({shown(error.error)}). Ask an "
                    "administrator to check the settings oidc_client_id and oidc_client_secret."
                ) from error
            raise LoginFailed(
                f"The provider does not accept the code: {shown(error.error)}. {AGAIN}", "login: code"
            ) from error
        except ValueError as error:
            raise ProviderUnavailable("The provider's token endpoint did not answer with JSON. Try again.") from error
        if not isinstance(tokens, Mapping):
            raise ProviderUnavailable("The provider's token endpoint did not answer with a JSON object. Try again.")
        return tokens

    async def _verified(
        self,
        client: AsyncOAuth2Client,
        metadata: Metadata,
        id_token: str,
        access_token: Any,
        nonce: str,
        now: datetime,
    ) -> dict[str, Any]:
        """Return the claims of an ID token after checking its signature, issuer, audience, times and nonce.

        A signature by an unknown key is checked again with the provider's current keys.
        """
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415
        from joserfc import jwt  # noqa: PLC0415
        from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError  # noqa: PLC0415
        from joserfc.jws import JWSRegistry  # noqa: PLC0415

        supported = metadata.get("id_token_signing_alg_values_supported", ALGORITHMS)
        registry = JWSRegistry(algorithms=[each for each in ALGORITHMS if each in supported], strict_check_header=False)
        try:
            try:
                token = jwt.decode(id_token, _key_set(await self._current_keys(client, metadata)), registry=registry)
            except (BadSignatureError, InvalidKeyIdError):
                self._keys = None  # the provider may have new ones
                token = jwt.decode(id_token, _key_set(await self._current_keys(client, metadata)), registry=registry)
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    "iss": {"essential": True, "value": self.config.issuer},
                    "aud": {"essential": True, "value": self.config.client_id},
                },
                {"nonce": nonce, "client_id": self.config.client_id, "access_token": access_token},
            )
            _check_clock(claims, now)
            claims.validate(now=int(now.timestamp()), leeway=LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise LoginFailed(
                f"The provider's ID token is not valid: {shown(str(error))}. {AGAIN} If it happens again, ask an "
                "administrator to check the settings oidc_issuer and oidc_client_id.",
                "login: ID token",
            ) from error
        return dict(claims)

    async def _current_keys(self, client: AsyncOAuth2Client, metadata: Metadata) -> Mapping[str, Any]:
        if self._keys is None:
            self._keys = await self._read(client, metadata["jwks_uri"])
        return self._keys

    async def _completed(
        self, client: AsyncOAuth2Client, metadata: Metadata, claims: dict[str, Any], access_token: Any
    ) -> dict[str, Any]:
        """Return the claims, with those of the userinfo endpoint if the ID token lacks the user's name or groups."""
        endpoint = metadata.get("userinfo_endpoint")
        wanted = (self.config.user_claim, self.config.groups_claim)
        if endpoint is None or not isinstance(access_token, str) or all(found_at(claims, each) for each in wanted):
            return claims
        more = await self._read(client, endpoint, Authorization=f"Bearer {access_token}")
        if more.get("sub") != claims["sub"]:
            raise LoginFailed(f"The provider's user information is about somebody else. {AGAIN}", "login: subject")
        return {**more, **claims}


def _key_set(keys: Mapping[str, Any]) -> Any:
    """Return the public keys for signatures, without keys for other uses or of unknown kinds."""
    from joserfc.errors import JoseError  # noqa: PLC0415
    from joserfc.jwk import JWKRegistry, KeySet  # noqa: PLC0415

    found: list[Any] = []
    listed = keys.get("keys")
    for key in listed if isinstance(listed, list) else []:
        if isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig":
            try:
                found.append(JWKRegistry.import_key(key))
            except (JoseError, ValueError, TypeError, KeyError):
                continue
    return KeySet(found)


def _check_clock(claims: Mapping[str, Any], now: datetime) -> None:
    """Refuse an ID token that is not yet valid or has expired, with a message about the clocks, the usual cause.

    Raises:
        LoginFailed: the token is not valid now; the message has both times.
    """
    issued, expires = claims.get("iat"), claims.get("exp")
    here = f"{now:%H:%M:%S} UTC"
    if isinstance(issued, int | float) and issued > now.timestamp() + LEEWAY:
        raise LoginFailed(
            f"The clock of this server ({here}) is behind that of the provider ({_time(issued)}). {CLOCKS}",
            "login: clock",
        )
    if isinstance(expires, int | float) and expires < now.timestamp() - LEEWAY:
        raise LoginFailed(
            f"The provider's ID token expired at {_time(expires)}, and the clock of this server says {here}. {CLOCKS}",
            "login: clock",
        )


def _time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return shown(seconds)


def is_secure(url: object, issuer: str) -> bool:
    """Whether an endpoint uses https, or http with both the endpoint and the issuer on loopback."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(url) and _is_loopback(issuer))
        )
    except ValueError:
        return False


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
