"""`paddle.version`: the version that scripts see."""

from fluidio.version import FLUID_VERSION

__all__ = ["commit", "full_version", "istaged", "major", "minor", "mkl", "patch", "rc", "show", "with_mkl"]

full_version = FLUID_VERSION
major, minor, patch = FLUID_VERSION.split(".")
rc = "0"
commit = "8e1712a71057e3ca06a2927ceec51c18cb171fdc"  # of the 1.8.5 whose numbers fluidio gives
istaged = True
with_mkl = "OFF"


def show() -> None:
    """Print the version."""
    print(f"full_version: {full_version}\nmajor: {major}\nminor: {minor}\npatch: {patch}\nrc: {rc}")


def mkl() -> str:
    """Return whether MKL is used; NumPy decides here."""
    return "OFF"
