"""Clients of key management services, which wrap and unwrap data keys. Rules: specs/encryption.rst, [ENC-K].

Only :class:`LocalKms` stores keys. No key is shown or logged.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from xskip.errors import ArgumentError, KeyNotAvailableError
from xskip.paths import check_path

__all__ = ["KmsClient", "LocalKms"]

_NONCE_BYTES = 12
_KEY_BYTES = (16, 24, 32)


class KmsClient(Protocol):
    """The interface of a client of a key management service; any error means that the key is not available.

    Examples
    --------
    A client that records the label of each master key that it uses:

    >>> class RecordingClient:
    ...     def __init__(self, client: KmsClient) -> None:
    ...         self.client, self.labels = client, []
    ...
    ...     def wrap(self, key: bytes, label: str) -> bytes:
    ...         self.labels.append(label)
    ...         return self.client.wrap(key, label)
    ...
    ...     def unwrap(self, wrapped: bytes, label: str) -> bytes:
    ...         self.labels.append(label)
    ...         return self.client.unwrap(wrapped, label)
    >>> client = RecordingClient(LocalKms({"k1": bytes(16)}))
    >>> client.unwrap(client.wrap(b"0123456789abcdef", "k1"), "k1"), client.labels
    (b'0123456789abcdef', ['k1', 'k1'])
    """

    def wrap(self, key: bytes, label: str) -> bytes:
        """Encrypt a data key with the master key of a label.

        Parameters
        ----------
        key : bytes
            The data key.
        label : str
            The label of the master key.

        Returns
        -------
        bytes
            The wrapped key.
        """

    def unwrap(self, wrapped: bytes, label: str) -> bytes:
        """Decrypt a data key with the master key of a label.

        Parameters
        ----------
        wrapped : bytes
            The result of :meth:`wrap`.
        label : str
            The label of the master key.

        Returns
        -------
        bytes
            The data key.
        """


class LocalKms:
    """A client with master keys in memory, for tests and small teams.

    The client encrypts with AES-GCM and passes the label as additional data, as parquet-mr does.

    Parameters
    ----------
    keys : mapping of str to bytes
        The master key of each label, with 16, 24 or 32 bytes.

    Raises
    ------
    ArgumentError
        If the keys are no mapping, or a key is not of type bytes.
    KeyNotAvailableError
        If a key has another length.

    Examples
    --------
    >>> kms = LocalKms({"k1": bytes(16)})
    >>> kms.unwrap(kms.wrap(b"0123456789abcdef", "k1"), "k1")
    b'0123456789abcdef'
    >>> kms
    LocalKms(labels=['k1'])
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not isinstance(keys, Mapping) or not all(isinstance(key, bytes) for key in keys.values()):
            raise ArgumentError(
                "LocalKms needs a mapping of labels to keys", found=f"an object of type {type(keys).__name__}",
                expected="such as {'k1': key} with keys of type bytes",
            )  # fmt: skip
        for label, key in keys.items():
            if len(key) not in _KEY_BYTES:
                raise KeyNotAvailableError(
                    "a master key has an invalid length",
                    where=label,
                    found=f"{len(key)} bytes",
                    expected="16, 24 or 32",
                )
        self._keys = dict(keys)

    def __repr__(self) -> str:
        return f"LocalKms(labels={sorted(self._keys)})"

    @staticmethod
    def from_file(path: str | Path) -> LocalKms:
        """Create a client with the keys of a JSON file, an object that maps labels to keys in base 64.

        Parameters
        ----------
        path : str or Path
            The path of the file.

        Returns
        -------
        LocalKms
            A client with one master key for each label.

        Raises
        ------
        ArgumentError
            If the path is no path.
        KeyNotAvailableError
            If the file cannot be read or has other content, or if a key has an invalid length.
        """
        path = check_path(path)
        try:
            return LocalKms({label: _key(text) for label, text in json.loads(Path(path).read_text()).items()})
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise KeyNotAvailableError(
                "cannot read the key file",
                where=path,
                found=error.strerror if isinstance(error, OSError) else type(error).__name__,
                expected="a JSON object of labels and base 64 keys",
            ) from None

    @staticmethod
    def from_environment(prefix: str = "XSKIP_KEY_") -> LocalKms:
        """Create a client with the keys of environment variables ``XSKIP_KEY_<label>``, which hold base 64.

        Parameters
        ----------
        prefix : str
            The start of the variables' names, before the label.

        Returns
        -------
        LocalKms
            A client with one master key for each variable.

        Raises
        ------
        KeyNotAvailableError
            If a variable does not hold base 64, or if a key has an invalid length.
        """
        named = {name.removeprefix(prefix): text for name, text in os.environ.items() if name.startswith(prefix)}
        try:
            return LocalKms({label: _key(text) for label, text in named.items()})
        except ValueError:
            raise KeyNotAvailableError(
                "an environment variable does not contain base 64",
                where=", ".join(f"{prefix}{label}" for label in named),
            ) from None

    def wrap(self, key: bytes, label: str) -> bytes:
        """Encrypt a data key with the master key of a label.

        Parameters
        ----------
        key : bytes
            The data key.
        label : str
            The label of the master key.

        Returns
        -------
        bytes
            A random nonce and the encrypted key, in base 64.

        Raises
        ------
        KeyNotAvailableError
            If the client has no master key of the label.
        """
        nonce = os.urandom(_NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher(label).encrypt(nonce, key, label.encode()))

    def unwrap(self, wrapped: bytes, label: str) -> bytes:
        """Decrypt a data key with the master key of a label.

        Parameters
        ----------
        wrapped : bytes
            The result of :meth:`wrap`.
        label : str
            The label of the master key.

        Returns
        -------
        bytes
            The data key.

        Raises
        ------
        KeyNotAvailableError
            If the client has no master key of the label, or if the master key does not open the wrapped key.
        """
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(wrapped, validate=True)
            key: bytes = self._cipher(label).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], label.encode())
        except (InvalidTag, ValueError):
            raise KeyNotAvailableError("the master key does not decrypt the wrapped key", where=label) from None
        return key

    def _cipher(self, label: str) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if label not in self._keys:
            raise KeyNotAvailableError("the client has no master key with this label", where=label)
        return AESGCM(self._keys[label])


def _key(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
