"""Settings of connections and listeners, as text."""

from __future__ import annotations

import os
from typing import Any, List, Mapping, Tuple


def written(options: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Returns settings as the native module takes them. None stands for the default."""
    return [(name.replace("_", "-"), _text(name, value)) for name, value in options.items() if value is not None]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_timeout") and isinstance(value, (int, float)):
        # Seconds, as everywhere in Python; a time below a millisecond is none.
        return str(round(value * 1000)) if abs(value) < 1e9 else str(value)
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"`{name}` takes a text, a number, a path, or True or False, and was given {value!r}")
