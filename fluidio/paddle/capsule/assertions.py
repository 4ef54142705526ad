"""Methods of unittest.TestCase under the names that Python 3.12 has dropped."""

from __future__ import annotations

from typing import Any

__all__ = [
    "assertAlmostEquals",
    "assertEquals",
    "assertItemsEqual",
    "assertNotEquals",
    "assertRaisesRegexp",
    "assertRegexpMatches",
]


def _call(case: Any, old: str, new: str, args: Any, kwargs: Any) -> Any:
    return (getattr(case, new, None) or getattr(case, old))(*args, **kwargs)


def assertEquals(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertEqual."""
    return _call(case, "assertEquals", "assertEqual", args, kwargs)


def assertNotEquals(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertNotEqual."""
    return _call(case, "assertNotEquals", "assertNotEqual", args, kwargs)


def assertAlmostEquals(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertAlmostEqual."""
    return _call(case, "assertAlmostEquals", "assertAlmostEqual", args, kwargs)


def assertItemsEqual(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertCountEqual."""
    return _call(case, "assertItemsEqual", "assertCountEqual", args, kwargs)


def assertRegexpMatches(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertRegex."""
    return _call(case, "assertRegexpMatches", "assertRegex", args, kwargs)


def assertRaisesRegexp(case: object, *args: object, **kwargs: object) -> Any:
    """Call case.assertRaisesRegex."""
    return _call(case, "assertRaisesRegexp", "assertRaisesRegex", args, kwargs)
