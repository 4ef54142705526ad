"""`PipeReader`: read lines from the output of a command."""

from __future__ import annotations

import codecs
import io
import subprocess
import zlib
from collections.abc import Iterator

from fluidio.era import era
from fluidio.errors import ReaderError

__all__ = ["PipeReader"]


class PipeReader:
    """Reads the output of a command: `PipeReader("hadoop fs -cat /path/part-0").get_line()`.

    Args:
        command: program and arguments, separated by single spaces; no shell is involved.
        bufsize: bytes to read at once.
        file_type: "plain" or "gzip".

    Fluid: the command ran from construction on; here each `get_line()` starts it, so it can be read again.
    """

    def __init__(self, command: str, bufsize: int = 8192, file_type: str = "plain") -> None:
        if not isinstance(command, str):
            raise TypeError(f"left_cmd must be a string, got {type(command).__name__}")
        self.command = command
        self.bufsize = bufsize
        self.file_type = file_type

    def get_line(self, cut_lines: bool = True, line_break: str = "\n") -> Iterator[str]:
        """Yield the lines without their line break; with `cut_lines=False`, pieces of text as they arrive.

        Raises:
            ReaderError: the command failed, or its gzip stream is damaged or cut.

        Fluid: text after the last line break was lost; here it is the last line, unless the era is strict.
        """
        if self.file_type not in ("plain", "gzip"):
            raise TypeError(f"file_type must be 'plain' or 'gzip', got {self.file_type!r}")
        text = self._text()
        if not cut_lines:
            yield from text
            return
        rest = ""
        for piece in text:
            *lines, rest = (rest + piece).split(line_break)
            yield from lines
        if rest and not era().strict:
            yield rest

    def _text(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for data in _gunzip(self._output(), self.command) if self.file_type == "gzip" else self._output():
            if piece := decoder.decode(data):
                yield piece
        if piece := decoder.decode(b"", final=True):
            yield piece

    def _output(self) -> Iterator[bytes]:
        process = subprocess.Popen(self.command.split(" "), bufsize=self.bufsize, stdout=subprocess.PIPE)
        assert isinstance(process.stdout, io.BufferedReader)
        try:
            while data := process.stdout.read1(self.bufsize):
                yield data
            if process.wait() != 0:
                raise ReaderError(f"PipeReader: the command failed with exit code {process.returncode}: {self.command}")
        finally:
            process.stdout.close()
            if process.poll() is None:
                process.kill()
            process.wait()


def _gunzip(pieces: Iterator[bytes], command: str) -> Iterator[bytes]:
    inflate = zlib.decompressobj(32 + zlib.MAX_WBITS)
    empty = True
    for data in pieces:
        while data:
            if inflate.eof:  # files made with `cat a.gz b.gz` hold several streams
                inflate = zlib.decompressobj(32 + zlib.MAX_WBITS)
            try:
                yield inflate.decompress(data)
            except zlib.error as error:
                raise ReaderError(f"PipeReader: the output is not sound gzip ({error}): {command}") from error
            empty = False
            data = inflate.unused_data
    if not empty and not inflate.eof:
        raise ReaderError(f"PipeReader: the gzip stream ends in the middle: {command}")
