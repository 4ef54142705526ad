"""`paddle.version`: what scripts are told about the version."""

from fluidio.version import FLUID_VERSION

__all__ = ["commit", "full_version", "major", "minor", "mkl", "patch", "rc", "show"]

full_version = FLUID_VERSION
major, minor, patch = FLUID_VERSION.split(".")
rc = "0"
commit = "fluidio"


def show() -> None:
    """Print the version."""
    print(f"full_version: {full_version}\nmajor: {major}\nminor: {minor}\npatch: {patch}\nrc: {rc}")


def mkl() -> str:
    """Return whether MKL is used; NumPy decides here."""
    return "OFF"
