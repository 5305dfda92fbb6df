"""The version of the client."""

VERSION = "0.2.0"
