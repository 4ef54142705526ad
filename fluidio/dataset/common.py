"""Find, download, check and split the files of data sets (`paddle.dataset.common`).

Files are in `DATA_HOME/<module>/<file>`, the cache that Paddle itself used. Environment variables:

    FLUIDIO_DATA_HOME   the cache, in place of ~/.cache/paddle/dataset
    FLUIDIO_CHECK_MD5   0: accept files whose md5 is not the published one
    FLUIDIO_FAKE_DATA   1: generate a data set of the same form if no file of it is in the cache; no network needed
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import os
import pickle
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import IO, Any

from fluidio import pickles
from fluidio.era import era
from fluidio.recordio import Writer

__all__ = ["DATA_HOME", "cluster_files_reader", "convert", "download", "fetch_all", "md5file", "must_mkdirs", "split"]

DATA_HOME = os.path.expanduser(os.environ.get("FLUIDIO_DATA_HOME") or os.path.join("~", ".cache", "paddle", "dataset"))

Reader = Callable[[], Iterable[Any]]

_TRIES = 3
_TIMEOUT = 20.0  # seconds without a byte
_PIECE = 1 << 20


def must_mkdirs(path: str) -> None:
    """Create a directory and its parents; an existing one is fine."""
    os.makedirs(path, exist_ok=True)


def md5file(fname: str) -> str:
    """Return the md5 of a file as hexadecimal text."""
    with open(fname, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


@lru_cache(maxsize=64)
def _md5_of_version(path: str, size: int, changed: int) -> str:
    return md5file(path)


def download(url: str, module_name: str, md5sum: str | None, save_name: str | None = None) -> str:
    """Return the path of a data set's file, downloading it when it is not in the cache.

    Args:
        url: where it was published; its last part is the file's name.
        module_name: the folder below `DATA_HOME`.
        md5sum: the published checksum, or None.
        save_name: another name for the file.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded, or its checksum is wrong; the text says what to do.

    Fluid: since 1.6, names contain "%2F"; files with the older, shorter names are found as well.
    """
    name = save_name or url.split("/")[-1]
    folder = os.path.join(DATA_HOME, module_name)
    # A data set is entirely real or entirely generated: real pictures with fake labels would be worse than an error.
    if os.environ.get("FLUIDIO_FAKE_DATA", "0") not in ("", "0") and not (os.path.isdir(folder) and os.listdir(folder)):
        from fluidio.dataset import fake

        return fake.path(module_name, name)
    for candidate in dict.fromkeys([name, name.split("%2F")[-1]]):
        path = os.path.join(folder, candidate)
        if os.path.exists(path):
            _check_md5(path, md5sum)
            return path
    return _fetch(url, os.path.join(folder, name), md5sum)


def _check_md5(path: str, md5sum: str | None) -> None:
    if md5sum is None or os.environ.get("FLUIDIO_CHECK_MD5") == "0":
        return
    status = os.stat(path)
    found = _md5_of_version(path, status.st_size, status.st_mtime_ns)
    if found != md5sum:
        raise RuntimeError(
            f"{path} has md5 {found}, but the published file has {md5sum}. If the file is incomplete, delete "
            "it, and it is downloaded again; if it is your own, set FLUIDIO_CHECK_MD5=0"
        )


def _fetch(url: str, path: str, md5sum: str | None) -> str:
    must_mkdirs(os.path.dirname(path))
    problem: Exception | None = None
    for _ in range(_TRIES):
        handle, part = tempfile.mkstemp(prefix=os.path.basename(path) + ".", suffix=".part", dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as out, urllib.request.urlopen(url, timeout=_TIMEOUT) as source:
                _copy(source, out, os.path.basename(path))
            _check_md5(part, md5sum)
            os.replace(part, path)  # only complete files ever have the name
            return path
        except RuntimeError as error:
            problem = error
        except (OSError, urllib.error.URLError) as error:
            problem = error
            break
        finally:
            if os.path.exists(part):
                os.unlink(part)
    raise RuntimeError(
        f"cannot download {url} ({problem}); the file is expected at {path}: copy it there from a machine "
        "that has it, choose another cache with FLUIDIO_DATA_HOME, or use generated data of the same form "
        "with FLUIDIO_FAKE_DATA=1 (`fluidio run --fake-data`)"
    ) from problem


def _copy(source: Any, out: IO[bytes], name: str) -> None:
    """Copy a download and report its progress, at most once a second."""
    total = int(source.headers.get("Content-Length") or 0)
    done, reported = 0, time.monotonic()
    while data := source.read(_PIECE):
        out.write(data)
        done += len(data)
        if time.monotonic() - reported > 1.0:
            reported = time.monotonic()
            share = f" of {total / 1e6:.1f} MB ({100 * done // total} %)" if total else " MB"
            print(f"{name}: {done / 1e6:.1f}{share}", file=sys.stderr, flush=True)
    if total and done != total:
        raise RuntimeError(f"the connection ended after {done} of {total} bytes")


_MODULES = ["cifar", "conll05", "flowers", "imdb", "imikolov", "mnist", "movielens", "mq2007"]
_MODULES += ["sentiment", "uci_housing", "voc2012", "wmt14", "wmt16"]


def fetch_all() -> None:
    """Download the files of every data set."""
    for name in _MODULES:
        importlib.import_module(f"fluidio.dataset.{name}").fetch()


def _pieces(reader: Reader, line_count: int) -> Iterator[list[Any]]:
    """Group samples into lists of `line_count`; in a strict era the first has one more, as in the original."""
    lines: list[Any] = []
    for number, sample in enumerate(reader()):
        lines.append(sample)
        full = number >= line_count and number % line_count == 0 if era().strict else len(lines) == line_count
        if full:
            yield lines
            lines = []
    yield lines


def split(
    reader: Reader,
    line_count: int,
    suffix: str = "%05d.pickle",
    dumper: Callable[[Any, IO[bytes]], Any] = pickle.dump,
) -> None:
    """Write a reader's samples into files of `line_count` samples each, as pickled lists.

    Args:
        suffix: the files' names, with a placeholder for the number.
        dumper: writes a list to an open binary file.
    """
    if not callable(dumper):
        raise TypeError("dumper must be a function")
    _check_count(line_count)
    for number, lines in enumerate(_pieces(reader, line_count)):
        if lines:
            with open(suffix % number, "wb") as file:
                dumper(lines, file)


def _check_count(line_count: int) -> None:
    assert line_count >= 1, f"line_count must be at least 1, got {line_count}"


def cluster_files_reader(
    files_pattern: str,
    trainer_count: int,
    trainer_id: int,
    loader: Callable[[IO[bytes]], Iterable[Any]] = pickles.load,
) -> Callable[[], Iterator[Any]]:
    """Return a reader of the samples in this trainer's share of the files that `split` wrote.

    Args:
        files_pattern: a glob pattern; the sorted files are distributed in turn.
        loader: reads the list in an open binary file. Fluid: any pickle; here only data, unless you pass `pickle.load`.
    """
    if not callable(loader):
        raise TypeError("loader must be a function")
    if not 0 <= trainer_id < trainer_count:
        raise ValueError(f"trainer_id must lie in 0 ... {trainer_count - 1}, got {trainer_id}")

    def reader() -> Iterator[Any]:
        files = sorted(glob.glob(files_pattern))
        if not files:
            raise FileNotFoundError(f"no file matches {files_pattern}")
        for name in files[trainer_id::trainer_count]:
            with open(name, "rb") as file:
                yield from loader(file)

    return reader


def convert(output_path: str, reader: Reader, line_count: int, name_prefix: str) -> None:
    """Write a reader's samples, pickled, into RecordIO files `prefix-00000`, `prefix-00001`, ...

    Args:
        output_path: an existing or new directory.
        line_count: samples in a file. Fluid: the first file got one more, and an empty one could follow the last.
    """
    _check_count(line_count)
    must_mkdirs(output_path)
    for number, lines in enumerate(_pieces(reader, line_count)):
        if lines or number == 0 or era().strict:
            with Writer(os.path.join(output_path, f"{name_prefix}-{number:05d}"), "snappy", None, dialect="go") as file:
                for sample in lines:
                    file.write(pickles.dumps(sample))
