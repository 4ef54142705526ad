"""Film ratings: user, gender, age, job, film, categories, title words, [rating from -3 to 5]."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fluidio.dataset import common
from fluidio.dataset.archives import FileVersion, lines_of, version

__all__ = [
    "age_table",
    "get_movie_title_dict",
    "max_job_id",
    "max_movie_id",
    "max_user_id",
    "movie_categories",
    "movie_info",
    "test",
    "train",
    "user_info",
]

URL = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
MD5 = "c4d9eecfca2ab87c1945afe126590906"
age_table = [1, 18, 25, 35, 45, 50, 56]


class MovieInfo:
    """A film: number, categories and title."""

    def __init__(self, index: int | str, categories: list[str], title: str) -> None:
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self) -> list[Any]:
        """Return the film as numbers: id, categories, words of the title."""
        tables = _tables()
        return [
            self.index,
            [tables.categories[c] for c in self.categories],
            [tables.titles[word.lower()] for word in self.title.split()],
        ]

    def __repr__(self) -> str:
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """A user: number, gender, age group and job."""

    def __init__(self, index: int | str, gender: str, age: int | str, job_id: int | str) -> None:
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = age_table.index(int(age))
        self.job_id = int(job_id)

    def value(self) -> list[int]:
        """Return the user as numbers: id, 0 for a man or 1 for a woman, age group, job."""
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]

    def __repr__(self) -> str:
        gender = "M" if self.is_male else "F"
        return f"<UserInfo id({self.index}), gender({gender}), age({age_table[self.age]}), job({self.job_id})>"


@dataclass(frozen=True)
class _Tables:
    movies: dict[int, MovieInfo]
    users: dict[int, UserInfo]
    titles: dict[str, int]
    categories: dict[str, int]
    ratings: list[list[str]]


def _tables() -> _Tables:
    return _read(version(common.download(URL, "movielens", MD5)))


@lru_cache(maxsize=2)
def _read(file: FileVersion) -> _Tables:
    try:
        with zipfile.ZipFile(file[0]) as archive:
            movies, users, ratings = (
                [line.split("::") for line in lines_of(archive.read(f"ml-1m/{name}.dat").decode("latin-1"))]
                for name in ("movies", "users", "ratings")
            )
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(f"{file[0]} is not the archive of MovieLens 1M ({error})") from error
    titled = re.compile(r"^(.*)\((\d+)\)$")
    films: dict[int, MovieInfo] = {}
    for number, title, categories in movies:
        matched = titled.match(title)
        films[int(number)] = MovieInfo(number, categories.split("|"), matched.group(1) if matched else title)
    people = {int(number): UserInfo(number, gender, age, job) for number, gender, age, job, _ in users}
    # Fluid numbered the words in the order of a Python set; here they are sorted, so the numbers are always the same.
    words = sorted({word.lower() for film in films.values() for word in film.title.split()})
    kinds = sorted({kind for film in films.values() for kind in film.categories})
    return _Tables(films, people, _number(words), _number(kinds), ratings)


def _number(words: list[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(words)}


def _reader_creator(*, is_test: bool, rand_seed: int = 0, test_ratio: float = 0.1) -> Callable[[], Iterator[list[Any]]]:
    tables = _tables()

    def reader() -> Iterator[list[Any]]:
        np.random.seed(rand_seed)  # Fluid: each pass sets numpy's global seed
        for user, film, rating, _ in tables.ratings:
            if (np.random.random() < test_ratio) == is_test:
                yield [*tables.users[int(user)].value(), *tables.movies[int(film)].value(), [float(rating) * 2 - 5.0]]

    return reader


def train(**kwargs: Any) -> Callable[[], Iterator[list[Any]]]:
    """Return a reader of nine tenths of the ratings; `rand_seed` and `test_ratio` change the split."""
    return _reader_creator(is_test=False, **kwargs)


def test(**kwargs: Any) -> Callable[[], Iterator[list[Any]]]:
    """Return a reader of the remaining ratings."""
    return _reader_creator(is_test=True, **kwargs)


def get_movie_title_dict() -> dict[str, int]:
    """Return the numbers of the words in titles."""
    return _tables().titles


def movie_categories() -> dict[str, int]:
    """Return the numbers of the categories."""
    return _tables().categories


def max_movie_id() -> int:
    """Return the greatest number of a film."""
    return max(_tables().movies)


def max_user_id() -> int:
    """Return the greatest number of a user."""
    return max(_tables().users)


def max_job_id() -> int:
    """Return the greatest number of a job."""
    return max(user.job_id for user in _tables().users.values())


def user_info() -> dict[int, UserInfo]:
    """Return all users by their numbers."""
    return _tables().users


def movie_info() -> dict[int, MovieInfo]:
    """Return all films by their numbers."""
    return _tables().movies


def fetch() -> None:
    """Download the archive."""
    common.download(URL, "movielens", MD5)
