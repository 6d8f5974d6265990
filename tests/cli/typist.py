"""Whoever sits at the keyboard: types line after line, and does things in between."""

import io
from collections.abc import Callable


class Typist(io.BufferedIOBase):
    """A standard input; a line that is a function is called when its turn comes."""

    def __init__(self, *lines: str | Callable[[], None]) -> None:
        self._lines = list(lines)

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        """The next line, alone: nothing is taken before it is asked for."""
        while self._lines:
            line = self._lines.pop(0)
            if isinstance(line, str):
                return f"{line}\n".encode()
            line()
        return b""

    def read(self, size: int | None = -1) -> bytes:
        return self.read1() if size else b""
