"""The seeds of one hand-in: drawn from a secret of the course and from the code itself.

Changing one letter of the code changes the inputs, so what one hand-in learns of its own is of no
use to the next. The same code gets the same inputs, so that a regrade gives the same verdict. The
generators of a worker have a seed of their own: what code reads in them tells nothing about the
inputs.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from autograder.model.exercise import Exercise

# How many seeds the hand-ins of a class share.
SHARED_SEEDS = 4
_BYTES = 8  # of which 63 bits are used: an integer that JSON and SQLite hold everywhere


def input_seed(secret: bytes, exercise: Exercise, code_hash: str) -> int:
    """Return the seed of the hidden inputs for the code with this hash, 63 bits."""
    return _seed("inputs", secret, exercise, code_hash)


def shared_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the inputs that hand-ins share, 63 bits, for the one with this `seed`.

    There are a few of them in a class, so what is computed for one hand-in serves others.
    """
    return _seed("shared", secret, exercise, str(seed % SHARED_SEEDS))


def common_seed(secret: bytes, exercise: Exercise) -> int:
    """Return the seed of inputs that all hand-ins of a class get, 63 bits; they decide nothing."""
    return _seed("common", secret, exercise, "")


def worker_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the generators that the code finds in its worker, 63 bits.

    There are a few of them in a class, so that right code draws what others have drawn before it.
    """
    return _seed("worker", secret, exercise, str(seed % SHARED_SEEDS))


def _seed(purpose: str, secret: bytes, exercise: Exercise, code_hash: str) -> int:
    facts = json.dumps([purpose, exercise.name, exercise.grading.seed, code_hash])
    digest = hmac.new(secret, facts.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:_BYTES], "big") >> 1
