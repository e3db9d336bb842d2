"""What a connection tells of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Tuple, Union


@dataclass(frozen=True)
class Explanation:
    """The stack in use, and the reasons for it. Its text is for human readers."""

    text: str = field(repr=False)
    chunnels: Tuple[str, ...]
    """Names of the Chunnels in use, top first."""
    reasons: str
    """The reasons why alternatives were passed over; empty if the first choice was possible."""
    notes: Tuple[str, ...]
    """What the Chunnels of this end have noted while they were built."""
    round: int
    """0 for the stack with which the connection began, and more after each change."""
    is_authenticated: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Layer:
    """The state of a layer. Times are in seconds, and rates in bytes per second."""

    name: str
    values: Dict[str, Union[int, float, bool, str]]
    drops: Dict[str, int]
    """Number of messages that the layer has dropped, by reason."""


@dataclass(frozen=True)
class Statistics:
    """Figures of a connection, since it was made. Their text has a line for each layer."""

    text: str = field(repr=False)
    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int
    dropped: int
    """Number of messages that arrived damaged, late or forged, and were dropped."""
    forged: int
    """Number of dropped messages that lacked the proof that they needed."""
    layers: Tuple[Layer, ...]

    def __str__(self) -> str:
        return self.text

    def layer(self, name: str) -> Layer:
        """Returns the topmost layer of this name; `KeyError` if there is none."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)
