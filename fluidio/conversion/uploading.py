"""Copy a file into an S3 store so that an interrupted upload resumes where it stopped.

The store keeps the parts of an unfinished upload, so no local state is needed and any machine may resume. A part is
kept if its size and its ETag (the MD5 of its bytes) match the source; any other is sent again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from fluidio.conversion import storage
from fluidio.recordio.files.source import filesystem_of, is_url

__all__ = ["PART", "copy_to_s3", "is_s3"]

PART = 16 << 20
"""Bytes in a part; S3 requires 5 MB or more. Smaller files are sent at once."""
_PARTS = 10_000  # S3's limit for one file

Report = Callable[[int], object]


def is_s3(target: str) -> bool:
    """Return whether a path or URL is in an S3 store."""
    return is_url(target) and hasattr(filesystem_of(target)[0], "call_s3")


def copy_to_s3(source: str, target: str, size: int, report: Report) -> tuple[int, str]:
    """Copy a file (a path or URL) into a store and return its size and SHA-256.

    Args:
        size: the size of the source, which determines the size of the parts.
        report: called with the number of bytes copied.
    """
    upload = _Upload(target)
    step = max(PART, -(-size // _PARTS))
    found, count = hashlib.sha256(), 0
    with storage.opened(source) as file:
        while data := _read(file, step):
            upload.put(data)
            found.update(data)
            count += len(data)
            report(count)
    upload.complete()
    return count, found.hexdigest()


def _read(file: Any, size: int) -> bytes:
    """Return the next bytes of a file: fewer than `size` only at its end."""
    pieces, left = [], size
    while left and (data := file.read(left)):
        pieces.append(data)
        left -= len(data)
    return b"".join(pieces)


class _Upload:
    """An upload in parts: the newest unfinished one of this name, or a new one."""

    def __init__(self, target: str) -> None:
        self._filesystem, path = filesystem_of(target)
        bucket, key, _ = self._filesystem.split_path(path)
        self._facts: dict[str, Any] = {"Bucket": bucket, "Key": key}
        self._there: dict[int, tuple[int, str]] = {}
        found = self._unfinished()
        if found is None:
            found = self._call("create_multipart_upload")["UploadId"]
        self._facts["UploadId"] = found
        self._tags: list[str] = []

    def put(self, data: bytes) -> None:
        """Add a part, unless the store has it."""
        number = len(self._tags) + 1
        tag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if self._there.get(number) != (len(data), tag):
            tag = self._call("upload_part", PartNumber=number, Body=data)["ETag"]
        self._tags.append(tag)

    def complete(self) -> None:
        """Assemble the file from the parts."""
        parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(self._tags, 1)]
        self._call("complete_multipart_upload", MultipartUpload={"Parts": parts})
        self._filesystem.invalidate_cache()

    def _call(self, method: str, **facts: object) -> Any:
        return self._filesystem.call_s3(method, **self._facts, **facts)

    def _unfinished(self) -> str | None:
        """Return the id of an unfinished upload and load its parts; None if there is none."""
        bucket, key = self._facts["Bucket"], self._facts["Key"]
        try:
            listed = self._filesystem.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key)
            ours = [entry for entry in listed.get("Uploads", []) if entry["Key"] == key]
            if not ours:
                return None
            newest: str = max(ours, key=lambda entry: entry["Initiated"])["UploadId"]
            self._there = self._parts(newest)
        except OSError:  # a store that does not list uploads, or not for us: start over
            return None
        return newest

    def _parts(self, upload: str) -> dict[int, tuple[int, str]]:
        found: dict[int, tuple[int, str]] = {}
        more: dict[str, Any] = {}
        while True:
            page = self._call("list_parts", UploadId=upload, **more)
            for part in page.get("Parts", []):
                found[part["PartNumber"]] = part["Size"], part["ETag"].strip('"')
            if not page.get("IsTruncated"):
                return found
            more = {"PartNumberMarker": page["NextPartNumberMarker"]}
