"""The first import of the fork server, and only of it: it hides what other imports print."""

from __future__ import annotations

from autograder.learning.process import silence

silence()
