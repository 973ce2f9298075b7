"""What Gradescope documents of results.json, as a JSON Schema.

https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

from typing import Any

_FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_VISIBLE = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
GRADESCOPE: dict[str, Any] = {
    "type": "object",
    "required": ["score", "tests"],
    "additionalProperties": False,
    "properties": {
        **{name: _TEXT for name in ("output",)},
        **{name: _FORMATS for name in ("output_format", "test_output_format", "test_name_format")},
        **{"visibility": _VISIBLE, "stdout_visibility": _VISIBLE, "score": _NUMBER},
        **{"execution_time": {"type": "integer"}, "extra_data": {}, "leaderboard": {}},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    **{"score": _NUMBER, "max_score": _NUMBER, "name": _TEXT, "number": _TEXT},
                    **{"output": _TEXT, "visibility": _VISIBLE, "extra_data": {}},
                    **{"name_format": _FORMATS, "output_format": _FORMATS},
                    **{"status": {"enum": ["passed", "failed"]}, "tags": {"type": "array"}},
                },
            },
        },
    },
}
