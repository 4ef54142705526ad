"""A folder for PYTHONPATH that contains only the sitecustomize of child Pythons."""

__all__: list[str] = []
