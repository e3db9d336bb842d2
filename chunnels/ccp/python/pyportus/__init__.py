"""The package `portus` under the name that programs for pyportus import."""

from portus import *  # noqa: F403
from portus import __all__ as __all__
