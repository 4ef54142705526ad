"""The checker of borrowed sentences finds them wherever people read them, and leaves names, numbers and code alone."""

from __future__ import annotations

import pytest

from tests.differential.borrowed import Text, allowed, borrowed, grams, texts_of

THEIRS = set(grams([Text(1, "The kettle whistles loudly when its water boils: see page %d of the manual.")]))


def _shared(name: str, source: str, table: str = "") -> list[tuple[int, str]]:
    return [(found.line, found.shared) for found in borrowed(texts_of(name, source), THEIRS, allowed(table))]


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("a.py", 'x = 1\nraise ValueError("the kettle whistles loudly when its water boils")\n', 2),
        ("a.py", 'say("the kettle whistles "\n    "loudly when its water boils")\n', 1),
        ("a.py", 'def f():\n    """The kettle whistles loudly when its water boils."""\n', 2),
        ("a.py", "x = 1\n# The kettle whistles\n# loudly when its water boils.\n", 2),
        ("a.py", 'say(f"the kettle {name} whistles loudly when its {40} water boils")\n', 1),
        ("a.py", 's = """\nif x:\n    y = 1\n# the kettle whistles loudly when its water boils\n"""\n', 1),
        ("a.c", "int x;\n/* The kettle whistles loudly\n   when its water boils. */\n", 2),
        ("a.c", '\n\nfail("the kettle whistles %d loudly" " when its water boils");\n', 3),
        ("a.c", "f(); // the kettle whistles loudly when its water boils\n", 1),
        ("a.md", "# Tea\n\nThe kettle\nwhistles loudly when its water boils.\n", 3),
    ],
)
def test_a_shared_sentence_is_found_with_its_line(name: str, source: str, line: int) -> None:
    assert _shared(name, source) == [(line, "the kettle whistles loudly when its water boils")]


def test_the_longest_shared_runs_are_shown_without_the_words_around_them() -> None:
    text = "Hurry: the kettle whistles loudly when tea is due, and its water boils see page 5 of us"
    assert _shared("a.md", text) == [(1, "the kettle whistles loudly when"), (1, "its water boils see page of")]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'say("the kettle whistles")\n'),  # too short
        ("a.py", 'say("the kettle", "whistles loudly when its", "water boils")\n'),  # three texts
        (
            "a.py",
            'def f():\n    """Make tea.\n\n    >>> the.kettle(whistles, loudly, when, its, water, boils)\n    """\n',
        ),
        ("a.py", "the = kettle(whistles, loudly, when, its, water, boils)\n"),
        ("a.md", "```\nthe kettle whistles loudly when its water boils\n```\n"),
        ("a.md", "Call `the kettle whistles loudly when its water boils`.\n"),
    ],
)
def test_code_and_short_runs_are_not_sentences(name: str, source: str) -> None:
    assert _shared(name, source) == []


def test_words_without_meaning_of_their_own_are_no_sentence() -> None:
    theirs = set(grams([Text(1, "if it is not one of the two that you gave")]))
    ours = [Text(1, "raise if it is not one of the two that we have")]
    assert list(borrowed(ours, theirs, set())) == []


def test_numbers_and_names_do_not_count_as_words() -> None:
    theirs = set(grams([Text(1, "float32, int64 or fluid.layers.fc with kettle_size=5 in CamelCase, x and y")]))
    assert theirs == set()


def test_a_line_of_the_table_allows_its_runs_and_no_longer_ones() -> None:
    text = "the kettle whistles loudly when its water boils"
    assert _shared("a.md", text, f"{text}  # on every kettle") == []
    assert _shared("a.md", text, f"# {text}") == [(1, text)]
    assert _shared("a.md", text, "the kettle whistles loudly when") == [
        (1, "kettle whistles loudly when its water boils")
    ]
