"""Folders of pictures, one for each class, and a file that maps folders to labels.

fluidio convert imagenet.py --output OUT/train --partitions 64 -- --label_file labels.txt --image_dir train

Every folder is a task. A line of the label file is `n02119789 0`; more columns are allowed. A record holds the name
of the file, the label, and the file's bytes as they are.
"""

import argparse
import functools
import os
from collections.abc import Iterator


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--label_file", required=True, help="lines of folder and label")
    parser.add_argument("--image_dir", required=True, help="the folder of the folders")
    return parser.parse_known_args()[0]


@functools.cache
def labels() -> dict[str, int]:
    found = {}
    with open(arguments().label_file, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words:
                continue
            if len(words) < 2 or not words[1].isdigit():
                raise ValueError(f"{file.name}, line {number}: expected a folder and a label, found {line.strip()!r}")
            found[words[0]] = int(words[1])
    return found


@functools.cache
def folders() -> list[str]:
    root = arguments().image_dir
    found = sorted(name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name)))
    unknown = [name for name in found if name not in labels()]
    if unknown:
        raise ValueError(f"{arguments().label_file} has no label for the folder {unknown[0]} of {root}")
    return found


def task_number() -> int:
    return len(folders())


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    folder = folders()[task_id]
    path = os.path.join(arguments().image_dir, folder)
    for name in sorted(os.listdir(path)):
        with open(os.path.join(path, name), "rb") as file:
            data = file.read()
        yield {"file_name": f"{folder}/{name}", "label": labels()[folder], "data": data}
