"""Semantic role labelling: nine id lists per verb of a sentence (words, five context words, verb, mark, labels)."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator

from fluidio.dataset import common
from fluidio.dataset.archives import lines_of, tar_members

__all__ = ["get_dict", "get_embedding", "test"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/conll05st/conll05st-tests.tar.gz"
DATA_MD5 = "387719152ae52d60422c016e92a742fc"
WORDDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FwordDict.txt"
WORDDICT_MD5 = "ea7fb7d4c75cc6254716f0177a506baa"
VERBDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FverbDict.txt"
VERBDICT_MD5 = "0d2977293bbb6cbefab5b0f97db1e77c"
TRGDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FtargetDict.txt"
TRGDICT_MD5 = "d8c7f03ceb5fc2e5a0fa7503a4353751"
EMB_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2Femb"
EMB_MD5 = "bf436eb0faa1f6f9103017f8be57cdb7"
UNK_IDX = 0

_WORDS = "conll05st-release/test.wsj/words/test.wsj.words.gz"
_PROPS = "conll05st-release/test.wsj/props/test.wsj.props.gz"

Sentence = tuple[list[str], str, list[str]]
Sample = tuple[list[int], ...]


def load_dict(filename: str) -> dict[str, int]:
    """Number the lines of a file."""
    with open(filename, encoding="utf-8") as file:
        return {line.strip(): number for number, line in enumerate(file)}


def load_label_dict(filename: str) -> dict[str, int]:
    """Number the labels: "B-" and "I-" of each tag, tags in sorted order, and "O" last.

    Fluid: the tags came in the order of a Python set, which differs from run to run.
    """
    with open(filename, encoding="utf-8") as file:
        tags = sorted({line.strip()[2:] for line in file if line.startswith(("B-", "I-"))})
    numbered: dict[str, int] = {}
    for number, tag in enumerate(tags):
        numbered["B-" + tag] = 2 * number
        numbered["I-" + tag] = 2 * number + 1
    numbered["O"] = 2 * len(tags)
    return numbered


def corpus_reader(data_path: str, words_name: str, props_name: str) -> Callable[[], Iterator[Sentence]]:
    """Return a reader of (words, verb, labels), one for each verb of each sentence."""

    def reader() -> Iterator[Sentence]:
        files = dict(tar_members(data_path, lambda name: name in (words_name, props_name)))
        words, props = (lines_of(gzip.decompress(files[name]).decode("utf-8")) for name in (words_name, props_name))
        if len(words) != len(props):
            raise RuntimeError(f"{data_path} has {len(words)} lines of words, but {len(props)} lines of roles")
        sentence: list[str] = []
        columns: list[list[str]] = []
        for word, roles in zip([*words, ""], [*props, ""]):
            if roles:
                sentence.append(word)
                columns.append(roles.split())
            elif sentence:
                yield from _verbs(sentence, columns)
                sentence, columns = [], []

    return reader


def _verbs(sentence: list[str], rows: list[list[str]]) -> Iterator[Sentence]:
    lemmas, *roles = ([row[i] for row in rows] for i in range(len(rows[0])))
    verbs = [lemma for lemma in lemmas if lemma != "-"]
    for verb, column in zip(verbs, roles):
        yield sentence, verb, list(_labels(column))


def _labels(column: Iterable[str]) -> Iterator[str]:
    """Turn brackets "(A0*", "*", "*)" into "B-A0", "I-A0", "I-A0", and words outside into "O"."""
    inside = ""
    for mark in column:
        if mark.startswith("("):
            tag = mark[1 : mark.index("*")]
            yield "B-" + tag
            inside = "" if mark.endswith(")") else tag
        else:
            yield "I-" + inside if inside else "O"
            if mark.endswith(")"):
                inside = ""


def reader_creator(
    corpus_reader: Callable[[], Iterator[Sentence]],
    word_dict: dict[str, int] | None = None,
    predicate_dict: dict[str, int] | None = None,
    label_dict: dict[str, int] | None = None,
) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the nine id lists."""
    assert word_dict is not None and predicate_dict is not None and label_dict is not None, "three dictionaries"
    words_of, verbs_of, labels_of = word_dict, predicate_dict, label_dict

    def reader() -> Iterator[Sample]:
        for sentence, verb, labels in corpus_reader():
            length, at = len(sentence), labels.index("B-V")
            padded = ["bos", "bos", *sentence, "eos", "eos"]
            near = [at + step for step in (-2, -1, 0, 1, 2)]
            context = [words_of.get(padded[place + 2], UNK_IDX) for place in near]
            yield (
                [words_of.get(word, UNK_IDX) for word in sentence],
                *([one] * length for one in context),
                [verbs_of.get(verb, UNK_IDX)] * length,
                [int(place in near) for place in range(length)],
                [labels_of[label] for label in labels],
            )

    return reader


def get_dict() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the numbers of words, verbs and labels."""
    return (
        load_dict(common.download(WORDDICT_URL, "conll05st", WORDDICT_MD5)),
        load_dict(common.download(VERBDICT_URL, "conll05st", VERBDICT_MD5)),
        load_label_dict(common.download(TRGDICT_URL, "conll05st", TRGDICT_MD5)),
    )


def get_embedding() -> str:
    """Return the path of the trained word vectors: 16 bytes, then rows of 32 float32."""
    return common.download(EMB_URL, "conll05st", EMB_MD5)


def test() -> Callable[[], Iterator[Sample]]:
    """Return a reader of the test sentences, the only ones freely available."""
    path = common.download(DATA_URL, "conll05st", DATA_MD5)
    return reader_creator(corpus_reader(path, _WORDS, _PROPS), *get_dict())


def fetch() -> None:
    """Download sentences, dictionaries and word vectors."""
    test()
    get_embedding()
