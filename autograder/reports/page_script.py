"""The one script of the class page: its text, which is the same for every class, and its hash.

The page's Content-Security-Policy names the hash, so that a browser runs this text and nothing
else, whatever a hand-in brings into the page. A student's page has no script.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from autograder.reports.feedback import environment

SCRIPT = "class.js.j2"


@cache
def class_script() -> str:
    """Return the text of the script."""
    return environment().get_template(SCRIPT).render()


@cache
def script_source() -> str:
    """Return what the page's policy allows to run: the hash of the script."""
    digest = hashlib.sha256(class_script().encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
