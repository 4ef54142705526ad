"""From a folder of images to a trained program: label map, two workers, shards, open_files, shuffle, batch, train, EOF.

    python examples/convert_images.py

The images are made up here: for each class a folder of 8 x 8 pictures, one byte per pixel, with a bright quarter that
depends on the class. `fluidio convert` runs the template below in two processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import numpy as np

import fluidio as fluid
from fluidio.conversion import generate

CLASSES = ("n02119789", "n02100735", "n02110185", "n02096294")

TEMPLATE = """
import argparse, os
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--label_file")
parser.add_argument("--image_dir")
args = parser.parse_args()
labels = dict(line.split() for line in open(args.label_file))
folders = sorted(os.listdir(args.image_dir))

def task_number():
    return len(folders)

def dict_data(task_id):
    folder = os.path.join(args.image_dir, folders[task_id])
    for name in sorted(os.listdir(folder)):
        pixels = np.fromfile(os.path.join(folder, name), np.uint8)
        yield {"image": pixels.astype("float32") / 255, "label": int(labels[folders[task_id]])}
"""


def make_images(folder: str, count: int) -> tuple[str, str]:
    """Write `count` images of each class and the label map; return the paths of the map and of the folder."""
    random = np.random.default_rng(0)
    images = os.path.join(folder, "images")
    for number, name in enumerate(CLASSES):
        os.makedirs(os.path.join(images, name))
        for index in range(count):
            pixels = random.integers(0, 128, size=(8, 8), dtype=np.uint8)
            row, column = 4 * (number // 2), 4 * (number % 2)
            pixels[row : row + 4, column : column + 4] += 100
            pixels.tofile(os.path.join(images, name, f"{index:04d}.raw"))
    label_file = os.path.join(folder, "labels.txt")
    with open(label_file, "w") as file:
        file.writelines(f"{name} {number}\n" for number, name in enumerate(CLASSES))
    return label_file, images


def train(shards: list[str], epochs: int) -> tuple[float, int]:
    """Train a softmax regression on the shards; return the accuracy of the last epoch and its number of records."""
    reader = fluid.layers.open_files(
        filenames=shards, shapes=[(-1, 64), (-1, 1)], lod_levels=[0, 0], dtypes=["float32", "int64"], pass_num=1
    )
    reader = fluid.layers.shuffle(reader, buffer_size=500)
    reader = fluid.layers.batch(reader, batch_size=32, drop_last=False)
    image, label = fluid.layers.read_file(reader)
    prediction = fluid.layers.fc(image, size=len(CLASSES), act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))
    accuracy = fluid.layers.accuracy(prediction, label)
    fluid.optimizer.SGD(learning_rate=0.5).minimize(loss)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    right = records = 0.0
    for _ in range(epochs):
        right = records = 0.0
        while True:
            try:
                found, rows = exe.run(fetch_list=[accuracy, label])
            except fluid.core.EOFException:
                reader.reset()
                break
            right += float(found) * len(rows)
            records += len(rows)
    return right / records, int(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=100, help="images of each class")
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        label_file, images = make_images(folder, args.images)
        script = os.path.join(folder, "template.py")
        with open(script, "w") as file:
            file.write(TEMPLATE)
        prefix = os.path.join(folder, "shards", "train")
        arguments = ["--label_file", label_file, "--image_dir", images]
        manifest = generate(script, prefix, 2, workers=2, args=arguments)
        print(f"{manifest['records']} records in {len(manifest['shards'])} shards")
        shards = [os.path.join(folder, "shards", shard["name"]) for shard in manifest["shards"]]
        accuracy, records = train(shards, args.epochs)
        print(f"{records} records in the last epoch, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
