"""COUNTERSIGN_KEY -> one key per use, each with an id.

Every use (controls, audit, ...) derives its own key by HKDF-SHA256 (RFC 5869), so that
a MAC made for one can never pass for another. Several keys may be given, newest first:
the first one signs, all of them verify. Nothing here reads the environment.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
MAC_BYTES = 16  # 128 bits, as T21 asks


@dataclass(frozen=True, kw_only=True)
class Key:
    """A derived key; its bytes stay out of every `repr`."""

    id: str  # first 8 hex digits of its own SHA-256: tells keys apart, reveals none
    secret: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Keyring:
    """The keys of one use, newest first."""

    keys: tuple[Key, ...]

    @property
    def newest(self) -> Key:
        """The key that signs."""
        return self.keys[0]

    def named(self, key_id: str) -> Key | None:
        """The key with this id, if it is still known."""
        return next((key for key in self.keys if key.id == key_id), None)


def generate() -> str:
    """A new COUNTERSIGN_KEY: 32 random bytes in base64url."""
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def read(text: str) -> tuple[bytes, ...]:
    """The keys in COUNTERSIGN_KEY, separated by blanks or commas, newest first.

    `ValueError` when there is none or one of them is not 32 bytes in base64.
    """
    words = text.replace(",", " ").split()
    if not words:
        raise ValueError("it is empty")
    return tuple(_bytes(word) for word in words)


def ring(masters: tuple[bytes, ...], use: str) -> Keyring:
    """The keys of one use, derived from the master keys."""
    return Keyring(keys=tuple(_derived(master, use) for master in masters))


def mac(key: Key, *parts: str) -> str:
    """128 bits of HMAC over the parts, in base64url without padding."""
    # A length before each part: no two lists of parts can give the same bytes.
    message = b"".join(
        len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts
    )
    digest = hmac.new(key.secret, message, hashlib.sha256).digest()[:MAC_BYTES]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def mac_matches(keys: Keyring, given: str, *parts: str) -> bool:
    """Whether one of the keys made this MAC; compared in constant time."""
    matches = False
    for key in keys.keys:
        matches |= hmac.compare_digest(mac(key, *parts).encode(), given.encode())
    return matches


def _bytes(word: str) -> bytes:
    padded = word + "=" * (-len(word) % 4)
    try:
        value = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
    if len(value) != KEY_BYTES:
        raise ValueError(f"it is {len(value)} bytes, not {KEY_BYTES}")
    return value


def _derived(master: bytes, use: str) -> Key:
    info = f"countersign {use} 1".encode()
    secret = HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(master)
    return Key(id=hashlib.sha256(secret).hexdigest()[:8], secret=secret)
