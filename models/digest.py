"""The digest of a checkpoint's file: damage that PyTorch would read silently is noticed.

A checkpoint is PyTorch's zip archive with one more part, `digest`: the SHA-256, in hexadecimal, of the name,
the length and the bytes of every other part, in the order of the archive. PyTorch passes over that part, so
earlier versions read the file too. Files of earlier versions have none; their parts still have the checksums
of the zip format.
"""

import hashlib
import zipfile
from pathlib import Path
from typing import IO

PART = "digest"
"""Name of the part, in the folder that the archive begins with."""


def add_digest(file: IO[bytes]) -> None:
    """Add the digest to an archive that `torch.save` wrote.

    Args:
        file: the archive, open for reading and writing.
    """
    with zipfile.ZipFile(file, "a") as archive:
        folder = archive.namelist()[0].partition("/")[0]
        digest, _ = _digests(archive)
        # With the default date of `ZipInfo`: equal contents are equal files.
        archive.writestr(zipfile.ZipInfo(f"{folder}/{PART}"), digest)


def verified_digest(path: Path) -> str | None:
    """Check all parts of an archive against their checksums and the digest.

    Args:
        path: the archive.

    Returns:
        The digest, 64 hexadecimal digits; None if the file has none, as those of earlier versions.

    Raises:
        BadZipFile: damaged data, or parts that overlap, repeat or unpack to more than the file.
        OSError, ValueError, RuntimeError: a file that cannot be read, or one of another kind.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise zipfile.BadZipFile("damaged data: two parts have one name")
        # PyTorch packs nothing; what unpacks to more would fill the memory.
        if sum(part.file_size for part in archive.infolist()) > path.stat().st_size:
            raise zipfile.BadZipFile("its parts are larger than the file")
        found, written = _digests(archive)
    if written is not None and written != found:
        raise zipfile.BadZipFile(
            f"damaged data: expected the digest {written[:12]}..., found {found[:12]}..."
        )
    return written


def _digests(archive: zipfile.ZipFile) -> tuple[str, str | None]:
    """The digest of the parts of an archive, and the one that was written into it."""
    digest, written = hashlib.sha256(), None
    for part in archive.infolist():
        try:
            data = archive.read(part)  # compares the checksum of the zip format
        except zipfile.BadZipFile as error:
            raise zipfile.BadZipFile(f"damaged data in {part.filename}") from error
        if part.filename.partition("/")[2] == PART:
            written = data.decode("ascii", "replace")
        else:
            digest.update(f"{part.filename}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest(), written
