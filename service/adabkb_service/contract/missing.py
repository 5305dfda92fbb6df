"""The value of an optional field that a document leaves out."""

try:
    from pydantic import MISSING
except ImportError:  # pydantic 2.13
    from pydantic.experimental.missing_sentinel import MISSING

__all__ = ["MISSING"]
