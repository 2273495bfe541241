"""Keys for encrypted metadata (Parquet Modular Encryption). Rules: specs/encryption.rst.

Files keep labels and wrapped keys alone. What unwraps them is a client of a key management service, which the user
names once for the process; no key is kept, shown or logged here.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from xskip.errors import IndexDefinitionError, KeyNotAvailableError
from xskip.metadatastore.schema import Labels, leaves_under
from xskip.metadatastore.versions import WriteOptions

__all__ = ["KmsClient", "LocalKms", "decryption", "encryption", "labels_of", "use_kms"]

_NONCE_BYTES = 12
_KEY_BYTES = (16, 24, 32)


class KmsClient(Protocol):
    """What a key management service must do; any error means that the key is not available."""

    def wrap(self, key: bytes, label: str) -> bytes:
        """A data key, encrypted with the master key of a label."""

    def unwrap(self, wrapped: bytes, label: str) -> bytes:
        """The data key that :meth:`wrap` was given."""


class LocalKms:
    """Master keys at hand, for tests and small teams: AES-GCM with the label as additional data, as parquet-mr wraps.

    Parameters
    ----------
    keys : mapping of str to bytes
        A master key of 16, 24 or 32 bytes for each label.

    Raises
    ------
    KeyNotAvailableError
        A key has another length.

    Examples
    --------
    >>> kms = LocalKms({"k1": bytes(16)})
    >>> kms.unwrap(kms.wrap(b"0123456789abcdef", "k1"), "k1")
    b'0123456789abcdef'
    >>> kms
    LocalKms(labels=['k1'])
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        for label, key in keys.items():
            if len(key) not in _KEY_BYTES:
                raise KeyNotAvailableError(
                    "a master key of another length", where=label, found=f"{len(key)} bytes", expected="16, 24 or 32"
                )
        self._keys = dict(keys)

    def __repr__(self) -> str:
        return f"LocalKms(labels={sorted(self._keys)})"

    @staticmethod
    def from_file(path: str | Path) -> LocalKms:
        """The keys of a JSON file: an object of labels and keys in base 64.

        Raises
        ------
        KeyNotAvailableError
            The file is something else.
        """
        try:
            return LocalKms({label: _key(text) for label, text in json.loads(Path(path).read_text()).items()})
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise KeyNotAvailableError(
                "no file of keys", where=str(path), found=type(error).__name__, expected="JSON of labels and base 64"
            ) from None

    @staticmethod
    def from_environment(prefix: str = "XSKIP_KEY_") -> LocalKms:
        """The keys of environment variables: ``XSKIP_KEY_<label>``, each in base 64.

        Raises
        ------
        KeyNotAvailableError
            A variable is no base 64.
        """
        named = {name.removeprefix(prefix): text for name, text in os.environ.items() if name.startswith(prefix)}
        try:
            return LocalKms({label: _key(text) for label, text in named.items()})
        except ValueError:
            raise KeyNotAvailableError(
                "a key in the environment that is no base 64", where=", ".join(f"{prefix}{label}" for label in named)
            ) from None

    def wrap(self, key: bytes, label: str) -> bytes:
        """See :class:`KmsClient`."""
        nonce = os.urandom(_NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher(label).encrypt(nonce, key, label.encode()))

    def unwrap(self, wrapped: bytes, label: str) -> bytes:
        """See :class:`KmsClient`."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(wrapped, validate=True)
            key: bytes = self._cipher(label).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], label.encode())
        except (InvalidTag, ValueError):
            raise KeyNotAvailableError("a wrapped key that this master key does not open", where=label) from None
        return key

    def _cipher(self, label: str) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if label not in self._keys:
            raise KeyNotAvailableError("no master key of this label", where=label)
        return AESGCM(self._keys[label])


def _key(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


#: The client that this process uses, if one was named.
_clients: list[Any] = []


def use_kms(client: KmsClient | None) -> None:
    """Lets this process read encrypted metadata with a client's keys; None takes it away.

    Parameters
    ----------
    client : KmsClient or None
        An object with ``wrap`` and ``unwrap``, or a ``pyarrow.parquet.encryption.KmsClient``.
    """
    _clients[:] = [] if client is None else [client]


def labels_of(
    form: WriteOptions, own: Sequence[str], indexes: Mapping[str, str | None], leaves: Sequence[str]
) -> Labels | None:
    """The labels of a file's keys, None where nothing is to be encrypted.

    Parameters
    ----------
    form : WriteOptions
    own : sequence of str
        The columns under the footer's key: names of objects, partitions.
    indexes : mapping of str to (str or None)
        The columns of indexes with the labels of their keys, None for those that stay in the clear.
    leaves : sequence of str
        The paths of the file's Parquet leaves.

    Raises
    ------
    KeyNotAvailableError
        An index has a key and there is none for the footer, or the reverse; or the version knows no encryption.
    """
    keyed = any(label is not None for label in indexes.values())
    if form.footer_key is None:
        if keyed:
            raise KeyNotAvailableError(
                "an index has a key and the footer has none", hint="set spark.xskip.encryption.footer.key"
            )
        return None
    if not keyed:
        raise KeyNotAvailableError("the footer has a key and no index has one", hint="give an index a key_label")
    if form.version == 0:
        raise KeyNotAvailableError("version 0 of the metadata knows no encryption", hint="use a version from 1 on")
    columns = {**indexes, **dict.fromkeys(own, form.footer_key)}
    _check_prefixes(columns)
    paths: dict[str, list[str]] = {}
    for column, label in columns.items():
        if label is not None:
            paths.setdefault(label, []).extend(leaves_under([column], leaves))
    text = ";".join(f"{label}:{','.join(found)}" for label, found in paths.items())
    return Labels(form.footer_key, text, form.plaintext_footer)


def _check_prefixes(columns: Iterable[str]) -> None:
    """Other programs find an index's leaves by the beginning of their paths [ENC-L-3]."""
    ordered = sorted(columns)
    for one, other in itertools.pairwise(ordered):
        if other.startswith(one):
            raise IndexDefinitionError(
                "two columns of the metadata of which one begins like the other", found=f"{one}, {other}"
            )


def encryption(labels: Labels) -> Any:
    """What Arrow needs to write an encrypted file.

    Raises
    ------
    KeyNotAvailableError
        No client was named.
    """
    import pyarrow.parquet.encryption as pe

    keys = {
        label: paths.split(",") for label, _, paths in (part.partition(":") for part in labels.column_keys.split(";"))
    }
    configuration = pe.EncryptionConfiguration(
        labels.footer_key, column_keys=keys, plaintext_footer=labels.plaintext_footer, double_wrapping=True
    )
    return _factory().file_encryption_properties(pe.KmsConnectionConfig(), configuration)


def decryption() -> Any:
    """What Arrow needs to open an encrypted file.

    Raises
    ------
    KeyNotAvailableError
        No client was named.
    """
    import pyarrow.parquet.encryption as pe

    return _factory().file_decryption_properties(pe.KmsConnectionConfig())


def _factory() -> Any:
    """One for each file: a key that a client has lost since is not remembered."""
    import pyarrow.parquet.encryption as pe

    if not _clients:
        raise KeyNotAvailableError("the metadata is encrypted and nobody has its keys", hint="call xskip.use_kms(…)")
    adapted = _adapted(_clients[0])
    return pe.CryptoFactory(lambda _: adapted)


def _adapted(client: Any) -> Any:
    """A client as Arrow calls it; whatever goes wrong inside means that the key is not available."""
    import pyarrow.parquet.encryption as pe

    if isinstance(client, pe.KmsClient):
        return client

    class Adapter(pe.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return _guarded(client.wrap, key_bytes, master_key_identifier)

        def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
            return _guarded(client.unwrap, wrapped_key, master_key_identifier)

    return Adapter()


def _guarded(call: Any, data: bytes, label: str) -> bytes:
    try:
        return bytes(call(data, label))
    except KeyNotAvailableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a client raises: there is no key, and its words could hold one
        raise KeyNotAvailableError("the key is not available", where=label, found=type(error).__name__) from None
