"""The wire decodes what it encodes, and whatever else arrives is `WireError`."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.worker import wire
from worker.hostile_replies import ARRAYS, PLAIN


def there_and_back(value: wire.Value) -> wire.Value:
    parts: list[bytes] = []
    facts = wire.encode(value, parts)
    payload = wire.Payload(b"".join(parts))
    header = wire.read_header(wire.frame({"value": facts}, [])[wire.PREFIX.size :])
    decoded = wire.decode(header["value"], payload)
    payload.end()
    return decoded


@pytest.mark.parametrize("value", (*ARRAYS, *PLAIN), ids=lambda value: str(value)[:20])
def test_a_value_crosses_unchanged(value: wire.Value) -> None:
    decoded = there_and_back(value)
    assert type(decoded) is type(value)
    if isinstance(value, np.ndarray):
        assert decoded.dtype == value.dtype and decoded.shape == value.shape
        np.testing.assert_array_equal(decoded, value)
    else:
        assert repr(decoded) == repr(value)


def test_nan_crosses_as_a_number_and_in_an_array() -> None:
    assert np.isnan(there_and_back(float("nan")))
    assert np.isnan(there_and_back(np.array([np.nan]))).all()


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, b"bytes", np.array(["text"]), 1 << 70])
def test_what_is_of_no_known_kind_arrives_as_the_name_of_its_type(value: object) -> None:
    assert isinstance(there_and_back(value), wire.Opaque)


def test_a_list_arrives_as_a_tuple() -> None:
    assert there_and_back([1, [2.0]]) == (1, (2.0,))


@pytest.mark.parametrize(
    "facts",
    [
        None,
        [],
        {},
        {"kind": {}},
        {"kind": "array", "dtype": {}, "shape": []},
        {"kind": "array", "dtype": "O", "shape": []},
        {"kind": "array", "dtype": "f8", "shape": [-1]},
        {"kind": "array", "dtype": "f8", "shape": [True]},
        {"kind": "array", "dtype": "f8", "shape": [1 << 29]},
        {"kind": "array", "dtype": "f8", "shape": [1 << 28] * 8},
        {"kind": "array", "dtype": "f8", "shape": [1] * 9},
        {"kind": "array", "dtype": "b1", "shape": [8]},
        {"kind": "plain", "value": 1.5},
        {"kind": "plain", "value": 1 << 63},
        {"kind": "float", "value": "0x1p99999"},
        {"kind": "float", "value": "nonsense"},
        {"kind": "seed", "seed": -1},
        {"kind": "sequence", "items": [{"kind": "plain", "value": 1}] * 65},
    ],
    ids=repr,
)
def test_a_forged_value_is_a_wire_error(facts: object) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(facts, wire.Payload(bytes([2]) * 8))


def test_a_nest_of_sequences_has_a_bottom() -> None:
    facts: dict[str, object] = {"kind": "plain", "value": 1}
    for _ in range(wire.MAX_DEPTH + 1):
        facts = {"kind": "sequence", "items": [facts]}
    with pytest.raises(wire.WireError):
        wire.decode(facts, wire.Payload(b""))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda data: repr(data[:16]),
)
def test_a_forged_header_is_a_wire_error(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_header(data)


@pytest.mark.parametrize(
    "prefix",
    [
        wire.PREFIX.pack(b"XXXX", 1, 1),
        wire.PREFIX.pack(wire.MAGIC, wire.MAX_HEADER + 1, 0),
        wire.PREFIX.pack(wire.MAGIC, 0, 1 << 63),
    ],
)
def test_a_frame_over_the_caps_is_refused_before_it_is_read(prefix: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_prefix(prefix)


def test_the_payload_is_used_up_exactly() -> None:
    with pytest.raises(wire.WireError):
        wire.Payload(b"12").take(3)
    with pytest.raises(wire.WireError):
        wire.Payload(b"12").end()


def test_booleans_that_nobody_set_arrive_as_true_or_false() -> None:
    left = np.array([0, 1, 7, 255], np.uint8).view(bool)  # as `np.empty` may find them in memory
    assert there_and_back(left).tolist() == [False, True, True, True]
