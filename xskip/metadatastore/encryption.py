"""Keys for encrypted metadata (Parquet Modular Encryption). Rules: specs/encryption.rst.

Metadata files contain only labels and wrapped keys, which a client of a key management service unwraps. The user
registers this client once for the process. This module neither stores nor shows keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xskip.errors import IndexDefinitionError, KeyNotAvailableError
from xskip.hints import Phrase, Words
from xskip.metadatastore.kms import KmsClient
from xskip.metadatastore.schema import Labels, leaves_under
from xskip.metadatastore.versions import WriteOptions

__all__ = ["KMS_HINT", "decryption", "demand_client", "encryption", "labels_of", "use_kms"]

#: What to do without a key.
KMS_HINT = Words(
    "{}",
    Phrase("register a client that has the key with xskip.use_kms(…)", "add the key to the file of --kms-keys"),
)
#: The registered client of this process; empty if there is none.
_clients: list[Any] = []


def use_kms(client: KmsClient | None) -> None:
    """Register the client with whose keys this process reads and writes encrypted metadata; None removes it.

    The client is a :class:`KmsClient` or a ``pyarrow.parquet.encryption.KmsClient``.
    """
    _clients[:] = [] if client is None else [client]


def labels_of(
    write_options: WriteOptions, own: Sequence[str], indexes: Mapping[str, str | None], leaves: Sequence[str]
) -> Labels | None:
    """Return the labels of the keys that encrypt a metadata file, or None if the file is not encrypted.

    ``own`` are the columns under the key of the footer: ``obj_name`` and the partition columns. ``indexes`` has the
    label of the key of each index column, None for no encryption. ``leaves`` are the paths of the file's Parquet
    leaves.
    """
    keyed = any(label is not None for label in indexes.values())
    if write_options.footer_key is None:
        if keyed:
            raise KeyNotAvailableError(
                "an index has a key, but the footer has none", hint="set spark.xskip.encryption.footer.key"
            )
        return None
    if not keyed:
        raise KeyNotAvailableError("the footer has a key, but no index has one", hint="give an index a key_label")
    if write_options.version == 0:
        raise KeyNotAvailableError(
            "version 0 of the metadata format does not support encryption", hint="use version 1 or newer"
        )
    # The key of the footer also encrypts the names of data files and the partition values [ENC-L-2].
    columns = {**indexes, **dict.fromkeys(own, write_options.footer_key)}
    _check_prefixes(columns)
    paths: dict[str, list[str]] = {}
    for column, label in columns.items():
        if label is not None:
            paths.setdefault(label, []).extend(leaves_under([column], leaves))
    text = ";".join(f"{label}:{','.join(found)}" for label, found in paths.items())
    return Labels(write_options.footer_key, text, write_options.plaintext_footer)


def _check_prefixes(columns: Iterable[str]) -> None:
    # Other programs find the leaves of an index by the start of their paths [ENC-L-3]. If a name begins with another,
    # all names between the two in the order also begin with it, so a pair of neighbours shows it.
    ordered = sorted(columns)
    for one, other in itertools.pairwise(ordered):
        if other.startswith(one):
            raise IndexDefinitionError(
                "the name of one metadata column begins with the name of another", found=f"{one}, {other}"
            )


def encryption(labels: Labels) -> Any:
    """Return Arrow's properties for writing an encrypted file."""
    import pyarrow.parquet.encryption as pe

    keys = {
        label: paths.split(",") for label, _, paths in (part.partition(":") for part in labels.column_keys.split(";"))
    }
    configuration = pe.EncryptionConfiguration(
        labels.footer_key, column_keys=keys, plaintext_footer=labels.plaintext_footer, double_wrapping=True
    )
    return _factory().file_encryption_properties(pe.KmsConnectionConfig(), configuration)


def decryption() -> Any:
    """Return Arrow's properties for opening an encrypted file."""
    import pyarrow.parquet.encryption as pe

    return _factory().file_decryption_properties(pe.KmsConnectionConfig())


def demand_client() -> None:
    """Raise KeyNotAvailableError unless a client is registered."""
    if not _clients:
        raise KeyNotAvailableError(
            "the metadata is encrypted, and no KMS client is registered",
            hint=Words("{}", Phrase("call xskip.use_kms(…)", "use --kms-keys FILE")),
        )


def _factory() -> Any:
    """Create a factory for one file; a shared factory would cache keys that the client has lost since."""
    import pyarrow.parquet.encryption as pe

    demand_client()
    adapted = _adapted(_clients[0])
    return pe.CryptoFactory(lambda _: adapted)


def _adapted(client: Any) -> Any:
    """Return a client in the form that Arrow calls; an error inside the client means that the key is not available."""
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
