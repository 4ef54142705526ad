"""Stand-ins for conll05, wmt14 and wmt16: sentences with roles, and "translations" word by word."""

from __future__ import annotations

import struct

from fluidio.dataset.fake.dice import Dice, Files, gz, made_up_words, tar_gz, text

__all__ = ["conll05st", "wmt14", "wmt16"]

_NOUNS, _VERBS, _OTHERS = "nouns", "verbs", "others"
# role, kind of words, fewest, most, how often
_ROLES = [
    ("AM-TMP", _OTHERS, 1, 4, 0.4),
    ("A0", _NOUNS, 1, 6, 0.95),
    ("R-A0", _OTHERS, 1, 1, 0.1),
    ("V", _VERBS, 1, 1, 1.0),
    ("A1", _NOUNS, 2, 8, 0.9),
    ("A2", _NOUNS, 1, 5, 0.5),
    ("C-A1", _OTHERS, 1, 3, 0.2),
    ("AM-MNR", _OTHERS, 1, 3, 0.3),
    ("AM-LOC", _OTHERS, 2, 6, 0.6),
]
_TAGS = ["A0", "A1", "A2", "AM-TMP", "AM-LOC", "AM-MNR", "C-A1", "R-A0", "V"]
_RELEASE = "conll05st-release"


class _Sentence:
    """A sentence of one or two clauses, and the roles of its words, one column for each verb."""

    def __init__(self, dice: Dice, pools: dict[str, list[str]]) -> None:
        self._dice, self._pools = dice, pools
        self.words: list[str] = []
        self._lemmas: dict[int, str] = {}
        frames = [self._clause() for _ in range(1 if dice.one() < 0.75 else 2)]
        while len(self.words) < 20:
            self.words += self._phrase(_OTHERS, 1, 3)
        self.columns = [[self._lemmas.get(i, "-") for i in range(len(self.words))]]
        self.columns += [self._brackets(frame) for frame in frames]

    def _phrase(self, kind: str, low: int, high: int) -> list[str]:
        return [self._dice.pick(self._pools[kind]) for _ in range(self._dice.between(low, high))]

    def _clause(self) -> list[tuple[str, int, int]]:
        frame: list[tuple[str, int, int]] = []
        for role, kind, low, high, often in _ROLES:
            if role != "V" and self._dice.one() > often:
                continue
            phrase = self._phrase(kind, low, high)
            if self._dice.one() < 0.5:
                self.words += self._phrase(_OTHERS, 1, 2)
            start = len(self.words)
            if role == "V":
                self._lemmas[start] = phrase[0]
            self.words += phrase
            frame.append((role, start, len(self.words)))
        return frame

    def _brackets(self, frame: list[tuple[str, int, int]]) -> list[str]:
        column = ["*"] * len(self.words)
        for role, start, end in frame:
            column[end - 1] = "*)"
            column[start] = f"({role}*)" if end - start == 1 else f"({role}*"
        return column


def conll05st() -> Files:
    """Make 300 sentences with their dictionaries and word vectors."""
    dice = Dice(8)
    pools = {
        _NOUNS: made_up_words(200, 110),
        _VERBS: made_up_words(40, 111, (2, 2)),
        _OTHERS: made_up_words(120, 112, (1, 2)),
    }
    word_lines, role_lines = list[str](), list[str]()
    for number in range(300):
        sentence = _Sentence(dice, pools)
        for i, word in enumerate(sentence.words):
            word_lines.append(word.capitalize() if i == 0 and number % 11 == 0 else word)  # a few unknown words
            role_lines.append("  ".join(f"{column[i]:<8}" for column in sentence.columns).rstrip())
        word_lines.append("")
        role_lines.append("")
    vocabulary = list(dict.fromkeys(["<unk>", "bos", "eos", *pools[_NOUNS], *pools[_VERBS], *pools[_OTHERS]]))
    vectors = (0.1 * dice.bell(len(vocabulary), 32)).astype("<f4")
    members = [
        (_RELEASE, None),
        (f"{_RELEASE}/test.wsj/props/test.wsj.props.gz", gz(text(role_lines))),
        (f"{_RELEASE}/test.wsj/words/test.wsj.words.gz", gz(text(word_lines))),
        (f"{_RELEASE}/README", b"made-up sentences\n"),
    ]
    return {
        "conll05st-tests.tar.gz": tar_gz(members),
        "wordDict.txt": text(vocabulary),
        "verbDict.txt": text(pools[_VERBS]),
        "targetDict.txt": text([mark + tag for tag in _TAGS for mark in ("B-", "I-")] + ["O"]),
        "emb": struct.pack("<iIQ", 0, 4, vectors.size) + vectors.tobytes(),
    }


def _pairs(dice: Dice, count: int, source: list[str], target: list[str], low: int, high: int) -> list[str]:
    """Make "translations": word i of one list becomes word i of the other, neighbours swapped now and then."""
    lines = list[str]()
    for _ in range(count):
        ids = [int(len(source) * dice.one() ** 2) for _ in range(dice.between(low, high))]
        back = list(ids)
        for i in range(0, len(back) - 1, 2):
            if back[i] % 3 == 0:
                back[i], back[i + 1] = back[i + 1], back[i]
        lines.append(" ".join(source[i] for i in ids) + "\t" + " ".join(target[i] for i in back))
    return lines


def wmt14() -> Files:
    """Make 500 pairs for training, 60 for testing and 10 for generation."""
    dice = Dice(9)
    source, target = made_up_words(300, 113), made_up_words(300, 114)
    marks = ["<s>", "<e>", "<unk>"]
    train = _pairs(dice, 500, source, target, 3, 14) + ["a line without a tab", ""]
    train += _pairs(dice, 1, source, target, 90, 90)
    members = [
        ("wmt14", None),
        ("wmt14/src.dict", text(marks + source[:280])),
        ("wmt14/trg.dict", text(marks + target[:280])),
        ("wmt14/train", None),
        ("wmt14/test", None),
        ("wmt14/gen", None),
        ("wmt14/train/train", text(train)),
        ("wmt14/test/test", text(_pairs(dice, 60, source, target, 3, 14))),
        ("wmt14/gen/gen", text(_pairs(dice, 10, source, target, 3, 14))),
    ]
    return {"wmt14.tgz": tar_gz(members)}


def wmt16() -> Files:
    """Make 384 pairs for training, 48 for testing and 40 for validation."""
    dice = Dice(10)
    english = made_up_words(240, 115)
    german = [word + ("\u00fc" if i % 10 == 3 else "") for i, word in enumerate(made_up_words(240, 116))]
    members = [
        ("wmt16", None),
        ("wmt16/test", text(_pairs(dice, 48, english, german, 3, 10))),
        ("wmt16/train", text(_pairs(dice, 384, english, german, 3, 10) + ["no tab here"])),
        ("wmt16/val", text(_pairs(dice, 40, english, german, 3, 10))),
    ]
    return {"wmt16.tar.gz": tar_gz(members)}
