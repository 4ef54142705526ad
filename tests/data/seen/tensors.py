"""Tensors, scopes, sparse rows and arrays as objects."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import CPU, core, fluid, numbers, tryit


def tensor():
    s = core.Scope()
    v = s.var("t")
    t = v.get_tensor()
    r = [t._is_initialized(), tryit(t.shape), tryit(t._dtype), t.lod(), tryit(lambda: np.array(t))]
    t._set_dims([4, 6])
    t._alloc_int(CPU)
    a = np.array(t)
    a[2, 3] = 7
    r += [a.shape, str(a.dtype), tryit(t.set, a, CPU), np.array(t), t._dtype(), t._get_dims(), t.shape()]
    t.set(numbers(2, 3), CPU)
    r += [
        t._get_float_element(2),
        tryit(t._set_float_element, 1, 9.0),
        np.array(t),
        tryit(t._get_double_element, 0),
        t._dtype(),
    ]
    r += [
        tryit(t._get_float_element, 100) and 1,
        tryit(t.set, [1, 2], CPU),
        tryit(t.set, "a", CPU),
        tryit(t.set, np.ones(2, "complex64"), CPU),
        tryit(t.set, np.ones(2, "uint16"), CPU),
        tryit(t.set, np.ones(2, "bool"), CPU),
        t._dtype(),
        tryit(t.set, np.ones(2, "int8"), CPU),
        t._dtype(),
        tryit(t.set, np.ones(2, "uint8"), CPU),
        t._dtype(),
        tryit(t.set, np.ones(2, "int16"), CPU),
        t._dtype(),
        tryit(t.set, np.ones(2, "float16"), CPU),
        t._dtype(),
        tryit(t.set, np.float32(3), CPU),
        t.shape(),
        tryit(t.set, 3, CPU),
        tryit(t.set, np.ones((0, 3), "float32"), CPU),
        t.shape(),
        tryit(t.set, None, CPU),
        tryit(t.set, numbers(2, 2)),
        tryit(t.set, numbers(2, 2), 3),
    ]
    return r


def lod():
    t = fluid.LoDTensor()
    t.set(numbers(5, 2), CPU)
    r = [
        t.lod(),
        tryit(t.set_lod, [[0, 2, 5]]),
        t.lod(),
        t.recursive_sequence_lengths(),
        tryit(t.set_recursive_sequence_lengths, [[1, 4]]),
        t.lod(),
        t.has_valid_recursive_sequence_lengths(),
        tryit(t.set_lod, [[0, 2, 6]]),
        t.lod(),
        tryit(t.set_lod, [[2, 5]]),
        tryit(t.set_lod, [[0, 3, 2]]),
        tryit(t.set_recursive_sequence_lengths, [[1, 3]]),
        t.has_valid_recursive_sequence_lengths(),
        t.lod(),
        tryit(t.set_recursive_sequence_lengths, [[2, 1], [1, 2, 2]]),
        t.lod(),
        tryit(t.set_recursive_sequence_lengths, [[2, 2], [1, 2, 2]]),
        tryit(t.set_recursive_sequence_lengths, [[-1, 6]]),
        tryit(t.set_recursive_sequence_lengths, []),
        t.lod(),
        tryit(t.set_lod, [[]]),
        tryit(t.set_lod, [[0]]),
        tryit(t.set_lod, "a"),
        tryit(t.set_lod, [[0, 0, 5]]),
        t.lod(),
        tryit(t.set_lod, [0, 5]),
        tryit(t.set_lod, ((0, 5),)),
        t.lod(),
        tryit(t.set_lod, [[0, 2.5]]),
    ]
    return r


def tensor_str():
    t = fluid.LoDTensor()
    r = []
    t.set(numbers(2, 2), CPU)
    r.append([l for l in str(t).split("\n")])
    t.set(np.arange(6).reshape(3, 2), CPU)
    t.set_recursive_sequence_lengths([[1, 2]])
    r.append(str(t).split("\n"))
    r.append(t[0:1] if True else 0)
    r.append(tryit(lambda: t[1]))
    r.append(tryit(lambda: np.array(t[0:2, 1:])))
    r.append(tryit(lambda: t[::2]))
    r.append(tryit(lambda: t[5]))
    r.append(tryit(lambda: len(t)))
    r.append(tryit(lambda: np.array(t[-1])))
    return r


def create_lod_tensor():
    r = [
        tryit(fluid.create_lod_tensor, *a)
        for a in (
            (numbers(5, 2), [[2, 3]], CPU),
            (numbers(5, 2), [[2, 2]], CPU),
            ([[1, 2], [3]], [[2, 1]], CPU),
            ([[1, 2], [3]], [[1, 2]], CPU),
            ([1, 2], [[2]], CPU),
            (numbers(5, 2), [], CPU),
            (numbers(5, 2), None, CPU),
            (numbers(5), [[5]], CPU),
            ("a", [[1]], CPU),
            (numbers(5, 2), [[2, 1], [1, 2, 2]], CPU),
            ([[1.5], [2.5]], [[1, 1]], CPU),
            (np.ones((2, 1), "int32"), [[1, 1]], CPU),
        )
    ]
    r.append([tryit(fluid.create_lod_tensor, fluid.create_lod_tensor(numbers(5, 2), [[2, 3]], CPU), [[1, 4]], CPU)])
    np.random.seed(3)
    q = fluid.create_random_int_lodtensor([[2, 3]], [30], CPU, 0, 9)
    r += [
        q.recursive_sequence_lengths(),
        np.array(q).shape,
        str(np.array(q).dtype),
        tryit(fluid.create_random_int_lodtensor, [[2, 3]], 30, CPU, 0, 9),
    ]
    return r


def scope():
    s = core.Scope()
    v = s.var("a")
    k = s.new_scope()
    r = [s.find_var("a") is not None, k.find_var("a") is not None, s.find_var("zz"), s.var("a") is not None]
    k.var("b")
    r += [s.find_var("b"), k.find_var("b") is not None]
    s.drop_kids()
    v.get_tensor()
    r += [
        tryit(v.set_int, 10),
        tryit(v.get_int),
        v.is_int() if hasattr(v, "is_int") else 0,
        tryit(v.get_tensor),
        tryit(v.set_float, 3.5),
        tryit(v.get_float),
        tryit(v.get_selected_rows),
        tryit(s.var, 3),
        tryit(s.find_var, None),
        tryit(v.get_lod_tensor_array),
        tryit(v.get_lod_rank_table),
        tryit(v.get_reader),
        tryit(v.get_fetch_list),
    ]
    w = s.var("b")
    r += [tryit(w.get_int), tryit(w.set_int, 3), tryit(w.get_int), tryit(w.get_float), tryit(w.get_tensor)]
    u = s.var("c")
    sr = u.get_selected_rows()
    sr.set_height(10)
    sr.set_rows([1, 3])
    sr.get_tensor().set(numbers(2, 2), CPU)
    r += [
        sr.rows(),
        sr.height(),
        np.array(sr.get_tensor()),
        tryit(u.get_tensor),
        sr.numel() if hasattr(sr, "numel") else 0,
    ]
    f = s.var("d").get_fetch_list() if hasattr(s.var("d"), "get_fetch_list") else None
    r += [tryit(lambda: len(f))]
    return r


def selected_rows():
    x = core.SelectedRows()
    r = [x.rows(), x.height(), tryit(lambda: np.array(x.get_tensor()))]
    x.set_height(7)
    x.set_rows([0, 4, 4])
    t = x.get_tensor()
    t.set(numbers(3, 5), CPU)
    r += [
        x.rows(),
        x.height(),
        np.array(x.get_tensor()),
        tryit(x.sync_index),
        x.numel() if hasattr(x, "numel") else None,
        tryit(x.set_rows, "a"),
        tryit(x.set_height, "a"),
        tryit(lambda: core.SelectedRows([1, 2], 5).rows()),
        tryit(lambda: core.SelectedRows([1, 2], 5).height()),
        tryit(x.set_rows, [1.5]),
        tryit(lambda: list(x.rows())),
    ]
    return r


def tensor_array():
    a = core.LoDTensorArray()
    r = [len(a)]
    for i in range(3):
        t = fluid.LoDTensor()
        t.set(numbers(i + 1, 2), CPU)
        a.append(t)
    r += [len(a), [np.array(t) for t in a], tryit(lambda: a[5]), tryit(lambda: np.array(a[-1])), tryit(a.append, 3)]
    t = fluid.LoDTensor()
    t.set(numbers(1), CPU)
    a[1] = t
    r += [
        [np.array(q).shape for q in a],
        tryit(lambda: a._move_to_list()) and 1,
        tryit(lambda: len(a)),
        tryit(lambda: core.LoDTensorArray([t])),
    ]
    return r


def dlpack():
    t = fluid.LoDTensor()
    t.set(numbers(2, 3), CPU)
    d = t._to_dlpack()
    r = [type(d).__name__]
    u = core.from_dlpack(d)
    r += [np.array(u), u._dtype(), tryit(core.from_dlpack, 3)]
    for dt in ("int8", "uint8", "int16", "int32", "int64", "float16", "float64", "bool"):
        t.set(np.ones((2, 3), dt), CPU)
        r.append(tryit(lambda: np.array(core.from_dlpack(t._to_dlpack())).dtype.name))
    return r
