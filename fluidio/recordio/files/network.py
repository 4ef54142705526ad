"""Access fsspec stores with time limits and one-line errors: what happened, at which URL, what to do.

The libraries behind fsspec raise their own exceptions, wait for minutes and hide a refused connection behind "file not
found". Here a missing file stays a FileNotFoundError, and every other network failure is a RecordIOError.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from fluidio.errors import RecordIOError

__all__ = ["ExplainedStore", "fetch", "limits", "plain_errors", "refusal"]

CONNECT_SECONDS = 10
SILENCE_SECONDS = 60
SLOWEST = 10_000  # bytes a second
_PIECE = 1 << 16
_LIBRARIES = ("aiohttp", "botocore", "aiobotocore", "s3fs", "gcsfs", "adlfs", "azure", "fsspec", "requests", "urllib3")


def limits(protocol: str) -> dict[str, Any]:
    """Return fsspec's options for time limits of a protocol; the user's own settings are kept."""
    import fsspec

    configured = fsspec.config.conf.get(protocol, {})
    if protocol in ("s3", "s3a") and "config_kwargs" not in configured:
        retries = {"max_attempts": 2}
        return {
            "config_kwargs": {"connect_timeout": CONNECT_SECONDS, "read_timeout": SILENCE_SECONDS, "retries": retries}
        }
    if protocol in ("http", "https") and "client_kwargs" not in configured:
        import aiohttp

        half = SILENCE_SECONDS / 2  # fsspec asks twice about a file: HEAD, then GET
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=half)
        return {"client_kwargs": {"timeout": timeout}}
    return {}


def fetch(store: Any, path: str, start: int, size: int, url: str) -> bytes:
    """Return a range of a remote file, of exactly that size.

    Raises:
        RecordIOError: the server sends another range, too much, too little or too slowly.
    """
    inner = store._inner if isinstance(store, ExplainedStore) else store
    with plain_errors(url):
        if hasattr(inner, "set_session") and url.startswith("http"):
            from fsspec.asyn import sync

            data: bytes = sync(inner.loop, _fetch_http, inner, path, start, size, url)
        else:
            data = inner.cat_file(path, start=start, end=start + size)
    if len(data) != size:
        raise RecordIOError(
            f"the server sent only {len(data)} of {size} bytes at byte {start}", path=url, hint="run it again"
        )
    return data


async def _fetch_http(store: Any, path: str, start: int, size: int, url: str) -> bytes:
    """Request a range and read no more than that, whatever the server sends."""
    import aiohttp

    options = dict(store.kwargs)
    options["headers"] = {**options.get("headers", {}), "Range": f"bytes={start}-{start + size - 1}"}
    options["timeout"] = aiohttp.ClientTimeout(
        total=SILENCE_SECONDS + size / SLOWEST, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
    )
    session = await store.set_session()
    async with session.get(store.encode_url(path), **options) as answer:
        store._raise_not_found_for_status(answer, path)
        whole = answer.status != 206
        if (whole and start) or not (whole or answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")):
            raise RecordIOError(
                "the server does not answer requests for a range of bytes",
                path=url,
                hint="download the file or pass an open file object",
            )
        data = bytearray()
        async for piece in answer.content.iter_chunked(_PIECE):
            data += piece
            if len(data) > size and not whole:
                raise RecordIOError(f"the server sent more than {size} bytes at byte {start}", path=url)
            if len(data) >= size:
                break
        return bytes(data[:size])


class ExplainedStore:
    """An fsspec file system, or an open file of one, whose methods raise explained errors."""

    def __init__(self, inner: Any, url: str) -> None:
        self._inner, self._url = inner, url

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._explained(found, name == "open") if callable(found) else found

    def _explained(self, call: Callable[..., object], opens: bool) -> Callable[..., Any]:
        def explained(*args: object, **options: object) -> Any:
            with plain_errors(self._url):
                result = call(*args, **options)
            return ExplainedStore(result, self._url) if opens else result

        return explained

    def __enter__(self) -> ExplainedStore:
        with plain_errors(self._url):
            self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        with plain_errors(self._url):
            return self._inner.__exit__(*error)

    def __iter__(self) -> Iterator[Any]:
        with plain_errors(self._url):
            yield from self._inner


@contextlib.contextmanager
def plain_errors(url: str) -> Iterator[None]:
    """Convert exceptions of network libraries into a one-line error that names the URL."""
    try:
        yield
    except RecordIOError:
        raise
    except Exception as error:
        explained = _explain(error, url)
        if explained is None:
            raise
        raise explained from error


def refusal(error: BaseException) -> int | bool:
    """Return the status by which a server refused a request, True for missing rights, False for other failures."""
    for each in _chain(error):
        status = getattr(each, "status", None)
        if isinstance(status, int) and status >= 400:
            return status
        if isinstance(each, PermissionError):
            return True
    return False


def _explain(error: BaseException, url: str) -> OSError | None:
    """Return the error to raise instead, None for one that has nothing to do with the network."""
    chain = _chain(error)
    text = " ".join(str(error).split())
    for each in chain:
        problem = _problem(each)
        if problem is not None:
            return RecordIOError(problem[0], path=url, hint=problem[1])
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{url}: there is no such file" + (f" ({text})" if text and text not in url else ""))
    if isinstance(error, PermissionError):
        return RecordIOError(f"access denied: {text}", path=url, hint="check the credentials")
    if type(error).__module__.partition(".")[0] in _LIBRARIES:
        return RecordIOError(f"{type(error).__name__}: {text}", path=url)
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _problem(error: BaseException) -> tuple[str, str] | None:
    """Return the problem and the remedy for errors recognisable by their class name."""
    name = type(error).__name__
    if name == "ClientConnectorDNSError" or "gaierror" in name:
        return f"there is no such host: {_words(error)}", "check the address and the network"
    if isinstance(error, ConnectionRefusedError) or name in ("ClientConnectorError", "EndpointConnectionError"):
        return f"connection refused: {_words(error)}", "is the address right, and the server running?"
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return f"no answer in {SILENCE_SECONDS} seconds", "check the network, then run it again"
    if name in ("NoCredentialsError", "PartialCredentialsError"):
        return "no credentials", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400 and status != 404:
        return f"the server answers {status} {getattr(error, 'message', '')}".rstrip(), ""
    if isinstance(error, ConnectionError) or name in ("ServerDisconnectedError", "ClientPayloadError"):
        return f"the connection broke: {_words(error)}", "run it again"
    return None


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
