"""Bytes as they come over a channel, taken out frame by frame: the same on both ends."""

from __future__ import annotations

from autograder.protocol.wire import PREFIX, read_prefix


class FrameBuffer:
    """What was received and is not used yet."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, part: bytes) -> None:
        """Add bytes that have come."""
        self._held += part

    def take(self) -> tuple[bytes, bytes] | None:
        """Return header and payload of the next frame as they came; None until all of it is there.

        Raises `WireError` as soon as its beginning is wrong.
        """
        held = self._held
        if len(held) < PREFIX.size:
            return None
        head, size = read_prefix(bytes(held[: PREFIX.size]))
        whole = PREFIX.size + head + size
        if len(held) < whole:
            return None
        frame = bytes(held[PREFIX.size : whole])
        del held[:whole]
        return frame[:head], frame[head:]
