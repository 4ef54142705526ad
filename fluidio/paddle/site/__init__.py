"""A folder for PYTHONPATH: it holds nothing but the sitecustomize of child Pythons."""

__all__: list[str] = []
