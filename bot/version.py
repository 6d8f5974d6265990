"""The version of Countersign: as `--version` says it, and the foot of the Home tab."""

VERSION = "0.1.0"
