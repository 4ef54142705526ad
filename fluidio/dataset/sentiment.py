"""Film reviews of NLTK's corpus `movie_reviews`: (list of word ids, 0 for a bad one and 1 for a good one).

Fluid: read the corpus with nltk; here its archive is read directly, with the same words.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from fluidio.dataset import common
from fluidio.dataset.archives import FileVersion, version

__all__ = ["get_word_dict", "test", "train"]

URL = "https://corpora.bj.bcebos.com/movie_reviews%2Fmovie_reviews.zip"
MD5 = "155de2b77c6834dd8eea7cbe88e93acb"
NUM_TRAINING_INSTANCES = 1600
NUM_TOTAL_INSTANCES = 2000

Sample = tuple[list[int], int]
_TOKEN = re.compile(r"\w+|[^\w\s]+")


def _reviews() -> dict[str, list[str]]:
    return _read(version(common.download(URL, "corpora", MD5, "movie_reviews.zip")))


@lru_cache(maxsize=1)
def _read(file: FileVersion) -> dict[str, list[str]]:
    """Return the lower-case words of each review, by "neg/..." and "pos/..."."""
    try:
        with zipfile.ZipFile(file[0]) as archive:
            names = sorted(name for name in archive.namelist() if re.search(r"(neg|pos)/.*\.txt$", name))
            texts = {name.split("/", 1)[1]: archive.read(name).decode("utf-8", "replace") for name in names}
    except zipfile.BadZipFile as error:
        raise RuntimeError(f"{file[0]} is not a complete zip archive ({error})") from error
    return {name: [word.lower() for word in _TOKEN.findall(text)] for name, text in texts.items()}


def download_data_if_not_yet() -> None:
    """Download the corpus unless it is present."""
    _reviews()


def get_word_dict() -> list[tuple[str, int]]:
    """Return (word, number) for all words, frequent ones first."""
    counts: Counter[str] = Counter()
    for category in ("neg/", "pos/"):
        for name, words in _reviews().items():
            if name.startswith(category):
                counts.update(words)
    return [(word, number) for number, (word, _) in enumerate(counts.most_common())]


def sort_files() -> list[str]:
    """Return the names of the reviews, bad and good ones alternately."""
    bad = [name for name in _reviews() if name.startswith("neg/")]
    good = [name for name in _reviews() if name.startswith("pos/")]
    return [name for pair in zip(bad, good) for name in pair]


def load_sentiment_data() -> list[Sample]:
    """Return all samples."""
    numbers, reviews = dict(get_word_dict()), _reviews()
    return [([numbers[word] for word in reviews[name]], int(name.startswith("pos/"))) for name in sort_files()]


def reader_creator(data: list[Sample]) -> Iterator[Sample]:
    """Yield samples."""
    yield from data


def train() -> Iterator[Sample]:
    """Yield the training samples. Fluid: this is a reader itself, not a function that returns one."""
    return reader_creator(load_sentiment_data()[:NUM_TRAINING_INSTANCES])


def test() -> Iterator[Sample]:
    """Yield the test samples."""
    return reader_creator(load_sentiment_data()[NUM_TRAINING_INSTANCES:])


def fetch() -> None:
    """Download the corpus."""
    download_data_if_not_yet()
