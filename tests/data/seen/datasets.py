"""Batches of data sets, thread by thread."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import CPU, fluid, folder, io, layers, tryit


def _loaded(kind, threads, drop, files=2, n=7, size=2, first=99):
    got = []
    with folder() as path:
        paths = ["%s/%d" % (path, k) for k in range(files)]
        for one in paths:
            with open(one, "w") as file:
                file.write("".join("1 %d 2 %d %d\n" % (i + 1, i + 1, i + 2) for i in range(n)))
        a, b = (layers.data(name, [1], dtype="int64", lod_level=1) for name in "ab")
        data = fluid.DatasetFactory().create_dataset(kind)
        data.set_use_var([a, b])
        data.set_batch_size(size)
        data.set_thread(threads)
        data.set_filelist(paths)
        data.set_pipe_command("cat")
        if kind[0] == "I":
            data.load_into_memory()
        loader = io.DataLoader.from_dataset(data, [CPU] * threads, drop)
        for _ in range(2):
            each = [one for fed in loader for one in (fed if isinstance(fed, list) else [fed])]
            for one in each[:first]:
                got.append([np.array(one["a"]).reshape(-1).tolist(), list(np.array(one["b"]).shape), one["b"].lod()])
            got.append("end")
    return [got.count("end"), sorted(map(str, got))]


def q1():
    r = _loaded("QueueDataset", 1, False)
    return r


def q1d():
    r = _loaded("QueueDataset", 1, True)
    return r


def i1():
    r = _loaded("InMemoryDataset", 1, False)
    return r


def i2():
    r = _loaded("InMemoryDataset", 2, False, first=6)
    return r


def i2d():
    r = _loaded("InMemoryDataset", 2, True)
    return r


def i3():
    r = _loaded("InMemoryDataset", 3, False, 3, 5, 4, first=3)
    return r


def dse1():
    a = layers.data("a", [1], dtype="int64", lod_level=1)
    f = fluid.DatasetFactory()
    ds = f.create_dataset("InMemoryDataset")
    q = f.create_dataset()
    r = [
        type(q).__name__,
        tryit(f.create_dataset, "zz"),
        tryit(ds.set_use_var, [3]),
        tryit(ds.set_use_var, [layers.data("f64", [1], dtype="float64")]),
        tryit(ds.set_batch_size, "a"),
        tryit(ds.set_thread, "a"),
        tryit(q.local_shuffle),
        tryit(q.global_shuffle),
        tryit(ds.set_use_var, [a]),
    ]
    return r


def dse2():
    a = layers.data("a", [1], dtype="int64", lod_level=1)
    f = fluid.DatasetFactory()
    ds = f.create_dataset("InMemoryDataset")
    q = f.create_dataset()
    ds.set_use_var([a])
    r = [
        tryit(ds.desc),
        tryit(q.desc),
        tryit(ds.set_parse_ins_id, True),
        tryit(ds.set_queue_num, 3),
        tryit(ds.set_fleet_send_batch_size, 10),
        tryit(ds.set_merge_by_lineid),
        tryit(ds.desc),
    ]
    return r


def data2():
    L = layers.data
    D = fluid.data
    r = [
        [n, tryit(L, "a%d" % i, *a, **k)]
        for i, (n, a, k) in enumerate(
            [
                ("lm", ([3], True, "float32", -1), {}),
                ("np", (np.array([3, 4]),), {}),
                ("npi", ([np.int64(3)],), {}),
                ("st", (["3"],), {}),
                ("b", ([True],), {}),
            ]
        )
    ]
    r += [
        [n, tryit(D, "b%d" % i, *a)]
        for i, (n, a) in enumerate(
            [
                ("l", ([3], "float32", "a")),
                ("m2", ([-2, 3],)),
                ("0", ([0],)),
                ("N", (None,)),
                ("s", ("ab",)),
                ("np", (np.array([3, 4]),)),
                ("e", ([],)),
                ("d", ([3], None)),
                ("dt", ([3], np.float32)),
                ("lm", ([3], "float32", -1)),
            ]
        )
    ]
    r += [
        [v[1].desc.need_check_feed(), v[1].stop_gradient, v[1].persistable, v[1].is_data, v[1].lod_level]
        for v in r
        if hasattr(v[1], "desc")
    ]
    return r
