"""Folders of pictures, one for each class, and a file that maps folders to labels.

fluidio convert imagenet.py --output OUT/train --partitions 64 -- --label_file labels.txt --image_dir train

Every folder is a task. A line of the label file is `n02119789 0`; more columns are allowed. A record holds the name
of the file, the label, and the unchanged bytes of the file. Both arguments are paths or URLs.
"""

import argparse
import functools
from collections.abc import Iterator

from fluidio.conversion.storage import files_in, folders_in, join, read


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--label_file", required=True, help="lines of folder and label")
    parser.add_argument("--image_dir", required=True, help="the folder of the folders")
    return parser.parse_args()


@functools.cache
def labels() -> dict[str, int]:
    found, path = {}, arguments().label_file
    for number, line in enumerate(read(path).decode().splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or not words[1].isdigit():
            raise ValueError(f"{path}, line {number}: expected a folder and a label, found {line.strip()!r}")
        found[words[0]] = int(words[1])
    return found


@functools.cache
def folders() -> list[str]:
    root = arguments().image_dir
    found = folders_in(root)
    unknown = [name for name in found if name not in labels()]
    if unknown:
        raise ValueError(f"{arguments().label_file} has no label for the folder {unknown[0]} of {root}")
    return found


def task_number() -> int:
    return len(folders())


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    folder = folders()[task_id]
    path = join(arguments().image_dir, folder)
    if folders_in(path):
        raise ValueError(f"{path} holds the folder {folders_in(path)[0]}; pictures are expected")
    for name in files_in(path):
        yield {"file_name": f"{folder}/{name}", "label": labels()[folder], "data": read(join(path, name))}
