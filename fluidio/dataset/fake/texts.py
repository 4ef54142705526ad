"""Stand-ins for imdb, sentiment and imikolov: invented words, some typical of a mood or of their neighbours."""

from __future__ import annotations

from fluidio.dataset.fake.dice import Dice, Files, made_up_words, tar_gz, text, zip_bytes

__all__ = ["imdb", "imikolov", "sentiment"]

_COMMON = ["the", "a", "and", "of", "to", "is", "in", "it", "this", "that", "was", "as", "with", "for"]
_COMMON += ["but", "film", "movie", "on", "be", "are", "not", "his", "her", "they", "you", "one", "at"]
_COMMON += ["by", "an", "who", "from", "all", "like", "so", "just", "about", "or", "has", "if", "what"]
_COMMON += ["some", "story", "there", "more", "when", "very", "good", "out", "can", "see", "read", "book"]
_COMMON += ["forget", "great", "bad"]


def imdb() -> Files:
    """Make 1280 reviews for training and 256 for testing."""
    dice = Dice(5)
    extra = made_up_words(90, 105, avoid=_COMMON)
    neutral, happy, sad = _COMMON + extra[:50], extra[50:65], extra[65:80]
    rare = extra[80:90] + made_up_words(40, 106, (3, 4), avoid=_COMMON)

    def word(positive: bool) -> str:
        chance = dice.one()
        if chance < 0.22:
            chosen = dice.pick(happy if (chance < 0.17) == positive else sad)
        else:
            chosen = dice.pick(rare if chance < 0.24 else neutral)
        chance = dice.one()
        if chance < 0.05:
            return chosen.capitalize()
        return chosen + dice.pick([".", ",", "!", "'s", "-", " <br /><br />"]) if chance < 0.12 else chosen

    def review(positive: bool) -> bytes:
        written = " ".join([word(positive) for _ in range(dice.between(8, 44))])
        return (written + ("\n" if dice.one() < 0.3 else "")).encode("ascii")

    members: list[tuple[str, bytes | None]] = [
        ("aclImdb", None),
        ("aclImdb/README", b"made-up reviews\n"),
        ("aclImdb/imdb.vocab", text(neutral + happy + sad + rare)),
    ]
    for part, count in (("test", 256), ("train", 1280)):
        for label in ("neg", "pos"):
            members.append((f"aclImdb/{part}/{label}", None))
            for i in range(count // 2):
                score = dice.between(7, 10) if label == "pos" else dice.between(1, 4)
                members.append((f"aclImdb/{part}/{label}/{i}_{score}.txt", review(label == "pos")))
        if part == "train":
            members.append(("aclImdb/train/unsup/0_0.txt", review(True)))
    return {"aclImdb_v1.tar.gz": tar_gz(members)}


def imikolov() -> Files:
    """Make 3700 lines in which each word has favourite followers."""
    dice = Dice(6)
    vocabulary = made_up_words(430, 107)
    rare = made_up_words(60, 108, (3, 4), avoid=vocabulary)
    n = len(vocabulary)
    follow = [[dice.below(n) for _ in range(4)] for _ in range(n)]

    def line() -> str:
        words, at = list[str](), dice.below(n)
        for _ in range(dice.between(3, 30)):
            chance = dice.one()
            if chance < 0.05:
                words.append("<unk>" if chance < 0.03 else "N")
            else:
                words.append(dice.pick(rare) if chance < 0.07 else vocabulary[at])
            at = dice.pick(follow[at]) if dice.one() < 0.7 else int(n * dice.one() ** 2)
        return f" {' '.join(words)} "

    members: list[tuple[str, bytes | None]] = [
        ("./simple-examples", None),
        ("./simple-examples/data", None),
        ("./simple-examples/data/README", b"made-up text\n"),
    ]
    for name, count in (("ptb.test.txt", 40), ("ptb.train.txt", 3600), ("ptb.valid.txt", 60)):
        members.append((f"./simple-examples/data/{name}", text([line() for _ in range(count)])))
    return {"simple-examples.tgz": tar_gz(members)}


def sentiment() -> Files:
    """Make 40 bad and 40 good reviews."""
    dice = Dice(11)
    words = made_up_words(150, 117)
    members = [("movie_reviews/", b""), ("movie_reviews/README", b"made-up reviews\n")]

    def sentence(shift: int) -> str:
        length = dice.between(4, 12)
        return " ".join([words[(shift if dice.one() < 0.6 else 75 - shift) + dice.below(75)] for _ in range(length)])

    for label, shift in (("neg", 0), ("pos", 75)):
        members.append((f"movie_reviews/{label}/", b""))
        for i in range(40):
            body = [f"{sentence(shift)} . " for _ in range(dice.between(2, 5))]
            members.append((f"movie_reviews/{label}/cv{i:03d}_{10000 + i}.txt", text(body)))
    return {"movie_reviews.zip": zip_bytes(members)}
