"""TensorFlow: tf.data over TFRecord, records decoded a batch at a time (the fast way)."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf
from shared import BATCH, W1_WIDTH, Sink, case, main, raw_records, warm, write_raw


def _write(path, records):
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def _path(run, workload):
    return run.path("tensorflow", workload + ".tfrecord")


@case("prep", "all")
def prep(run):
    for workload in ("w1", "w2", "w3"):
        _write(_path(run, workload), raw_records(run.folder, workload))


def _w1(records):
    image = tf.io.decode_raw(tf.strings.substr(records, 0, W1_WIDTH * 4), tf.float32)
    return image, tf.io.decode_raw(tf.strings.substr(records, W1_WIDTH * 4, 8), tf.int64)


def _w2(records):
    return tf.strings.substr(records, 8, -1), tf.io.decode_raw(tf.strings.substr(records, 0, 8), tf.int64)


def _w3(records):
    lengths = tf.strings.length(records) // 8 - 1
    tokens = tf.io.decode_raw(tf.strings.reduce_join(tf.strings.substr(records, 8, -1)), tf.int64)
    labels = tf.io.decode_raw(tf.strings.substr(records, 0, 8), tf.int64)
    return tokens, tf.concat([[0], tf.cumsum(lengths)], 0), labels


@case("w1", "raw")
@case("w2", "raw")
@case("w3", "raw")
def read(run):
    path, sink = _path(run, run.workload), Sink(run)
    warm(path)
    use, decode = getattr(sink, run.workload), {"w1": _w1, "w2": _w2, "w3": _w3}[run.workload]
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    with run.timed():
        data = tf.data.TFRecordDataset(path, buffer_size=8 << 20).batch(BATCH[run.workload])
        for batch in data.map(decode).with_options(options).as_numpy_iterator():
            use(*batch)
    return sink.done()


@case("w4", "generator")
def w4(run):
    return write_raw(run, run.path("tensorflow", "w4.tfrecord"), _write)


if __name__ == "__main__":
    main("tensorflow")
