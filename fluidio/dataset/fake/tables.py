"""Stand-ins for uci_housing and movielens: numbers that depend on features, with some noise."""

from __future__ import annotations

import numpy as np

from fluidio.dataset.fake.dice import Dice, Files, made_up_words, text, zip_bytes

__all__ = ["movielens", "uci_housing"]


def uci_housing() -> Files:
    """Make 506 houses whose prices are nearly linear in their features."""
    dice = Dice(2)
    low = np.array([0.01, 0, 0.5, 0, 0.38, 3.5, 3, 1.1, 1, 187, 12.6, 0.3, 1.7])
    high = np.array([89, 100, 27.7, 1, 0.87, 8.8, 100, 12.1, 24, 711, 22, 396.9, 38])
    slope = np.array([-3, 2, -1, 1.5, -4, 12, -1, -5, 2, -3, -6, 2, -14.0])
    share = dice.uniform(506, 13)
    share[:, 0] **= 4  # skewed, like a crime rate
    share[:, 3] = share[:, 3] > 0.9
    rows = low + share * (high - low)
    prices = np.clip(24.0 + (share - 0.5).dot(slope) + 1.5 * dice.bell(506), 5.0, 50.0)
    form = " %8.5f %6.2f %6.3f  %d %7.4f %7.4f %6.2f %7.4f %3d %6.1f %6.2f %6.2f %6.2f %5.2f"
    return {"housing.data": text(form % (*row, price) for row, price in zip(rows, prices))}


_GENRES = ["Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"]
_GENRES += ["Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"]
_AGES = [1, 18, 25, 35, 45, 50, 56]


def movielens() -> Files:
    """Make 6200 ratings of 980 films by 300 users, who like genres according to gender and age."""
    dice = Dice(7)
    words = [word + ("\u00e9" if i % 97 == 5 else "") for i, word in enumerate(made_up_words(4400, 109, (2, 3)))]
    deck = dice.order(len(words))
    movies: list[str] = []
    genres_of: dict[int, list[str]] = {}
    ids = [i for i in range(1, 1001) if i % 50 != 7]
    for movie in ids:
        length = dice.between(3, 6)
        title = [(words[deck.pop()] if deck else dice.pick(words)).capitalize() for _ in range(length)]
        count = dice.between(1, 3)
        genres_of[movie] = sorted({dice.pick(_GENRES) for _ in range(count)})
        year = dice.between(1920, 2000)
        movies.append(f"{movie}::{' '.join(title)} ({year})::{'|'.join(genres_of[movie])}")
    users: list[str] = []
    taste: dict[int, tuple[bool, int]] = {}
    for user in range(1, 301):
        gender, age, job = dice.pick("MF"), dice.pick(_AGES), dice.between(0, 20)
        users.append(f"{user}::{gender}::{age}::{job}::{dice.below(100000):05d}")
        taste[user] = (gender == "M", _AGES.index(age))
    ratings = [_rating(dice, dice.between(1, 300), dice.pick(ids), taste, genres_of) for _ in range(6200)]
    data = zip_bytes(
        [
            ("ml-1m/", b""),
            ("ml-1m/movies.dat", text(movies, "latin-1")),
            ("ml-1m/ratings.dat", text(ratings, "latin-1")),
            ("ml-1m/README", b"made-up ratings\n"),
            ("ml-1m/users.dat", text(users, "latin-1")),
        ]
    )
    return {"ml-1m.zip": data}


def _rating(
    dice: Dice, user: int, movie: int, taste: dict[int, tuple[bool, int]], genres_of: dict[int, list[str]]
) -> str:
    male, age = taste[user]
    score = 3.0
    for genre in genres_of[movie]:
        k = _GENRES.index(genre)
        score += (1.2 if (k % 2 == 0) == male else -1.2) / len(genres_of[movie])
        score += 0.15 * (3 - abs(k % 7 - age))
    score += 0.4 * (dice.one() - 0.5)
    return f"{user}::{movie}::{int(min(5, max(1, round(score))))}::{978300000 + dice.below(10**6)}"
