"""Variables, operators and parameters as objects."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import core, fluid, layers, ops, tryit

Parameter = fluid.framework.Parameter
convert_np_dtype_to_dtype_ = fluid.framework.convert_np_dtype_to_dtype_


def var_attrs():
    b = fluid.default_main_program().current_block()
    w = b.create_var(dtype="float64", shape=[784, 100], lod_level=0, name="fc.w")
    r = [
        str(w) != "",
        w.dtype,
        w.shape,
        w.name,
        w.grad_name,
        w.lod_level,
        tryit(lambda: b.create_var(name="fc.w", dtype="float64", shape=(24, 100))),
        tryit(lambda: b.create_var(name="fc.w", shape=(784, 100))),
        tryit(lambda: b.create_var(name="fc.w", dtype="float32", shape=(784, 100))),
        tryit(lambda: b.create_var(name="fc.w", lod_level=2)),
        w.type,
        w.persistable,
        w.stop_gradient,
        w.is_data,
        w.op,
        w.block is b,
        w.error_clip,
        w.is_distributed if hasattr(w, "is_distributed") else None,
    ]
    s = b.create_var(name="step_scopes", type=core.VarDesc.VarType.STEP_SCOPES)
    r += [s.type, tryit(lambda: s.shape), tryit(lambda: s.dtype), tryit(lambda: s.lod_level)]
    r += [
        tryit(b.create_var, shape=[3]),
        tryit(b.create_var, name="q", dtype="abc"),
        tryit(b.create_var, name="q2", shape=3),
        tryit(b.create_var, name="q3", shape="ab"),
        tryit(b.create_var, name="q4", type="LOD"),
        tryit(b.create_var, name=5),
    ]
    return r


def var_astype_etc():
    x = fluid.data("x", [-1, 3])
    r = [
        x.astype("int64"),
        x.astype(np.float64),
        tryit(x.numpy),
        tryit(x.gradient),
        tryit(x.backward),
        tryit(x.detach),
        tryit(x.set_value, 3),
        tryit(x.clear_gradient),
        tryit(lambda: float(x)),
        tryit(lambda: bool(x)),
        tryit(lambda: 0),
        tryit(lambda: x.foo),
        x == x,
        x != x,
        tryit(lambda: x + "a"),
        tryit(lambda: x + None),
        tryit(lambda: x + np.ones(3, "float32")),
        tryit(lambda: np.ones(3, "float32") + x),
        tryit(lambda: x + [1.0]),
        tryit(lambda: x & x),
        tryit(lambda: ~x),
        tryit(lambda: abs(x)),
        tryit(lambda: 1),
        tryit(lambda: +x),
        tryit(lambda: divmod(x, 2)),
        tryit(lambda: round(x)),
        tryit(lambda: int(x)),
    ]
    return r


def ops_attrs():
    b = fluid.default_main_program().current_block()
    x = b.create_var(dtype="float64", shape=[5, 10], lod_level=0, name="mul.x")
    y = b.create_var(dtype="float64", shape=[10, 8], lod_level=0, name="mul.y")
    o = b.create_var(dtype="float64", shape=[5, 8], lod_level=0, name="mul.out")
    op = b.append_op(type="mul", inputs={"X": [x], "Y": y}, outputs={"Out": [o]}, attrs={"x_num_col_dims": 1})
    r = [
        str(op) != "",
        op.type,
        op.input_names,
        op.input("X"),
        op.input("Y"),
        op.output_names,
        op.output("Out"),
        sorted(op.attr_names),
        op.has_attr("x_num_col_dims"),
        op.attr_type("x_num_col_dims"),
        op.attr("x_num_col_dims"),
        op.attr("y_num_col_dims"),
        op.idx,
        o.op is op,
        tryit(op.attr, "none"),
        tryit(op.input, "Z"),
        tryit(op.output, "Z"),
        op.has_attr("z"),
        tryit(op.attr_type, "z"),
        op.input_arg_names,
        op.output_arg_names,
        op.block is b,
        tryit(op.all_attrs) is not None,
    ]
    op._set_attr("x_num_col_dims", 2)
    r += [
        op.attr("x_num_col_dims"),
        tryit(op._set_attr, "x_num_col_dims", "a"),
        tryit(op._set_attr, "new", [1, 2]),
        tryit(op.attr, "new"),
        tryit(op._rename_input, "mul.x", "k"),
        op.input("X"),
        tryit(op._rename_output, "mul.out", "z"),
        op.output("Out"),
        tryit(op._rename_input, "zz", "k"),
    ]
    return r


def op_errors():
    b = fluid.default_main_program().current_block()
    x = b.create_var(dtype="float64", shape=[5, 10], name="x")
    o = b.create_var(name="o", dtype="float64")
    r = [
        tryit(b.append_op),
        tryit(b.append_op, type="no_such_op"),
        tryit(b.append_op, type="mul"),
        tryit(b.append_op, type="mul", inputs={"X": [x]}, outputs={"Out": [o]}),
        tryit(b.append_op, type="mul", inputs={"X": [x], "Y": [x]}),
        tryit(b.append_op, type="relu", inputs={"X": [x, x]}, outputs={"Out": [o]}),
        tryit(b.append_op, type="relu", inputs={"X": [3]}, outputs={"Out": [o]}),
        tryit(b.append_op, type="relu", inputs={"X": ["x"]}, outputs={"Out": ["o"]}),
        tryit(b.append_op, type="relu", inputs={"X": ["nope"]}, outputs={"Out": ["o"]}),
        tryit(b.append_op, type="relu", inputs={"X": x, "Q": x}, outputs={"Out": [o]}),
        tryit(b.append_op, type="relu", inputs={"X": x}, outputs={"Out": o, "Z": o}),
        tryit(b.append_op, type="scale", inputs={"X": x}, outputs={"Out": o}, attrs={"scale": "a"}),
        tryit(b.append_op, type="scale", inputs={"X": x}, outputs={"Out": o}, attrs={"scale": None}),
        tryit(b.append_op, type="scale", inputs={"X": x}, outputs={"Out": o}, attrs=3),
        tryit(b.append_op, type="scale", inputs=[x], outputs={"Out": o}),
        tryit(b.append_op, type="sum", inputs={"X": []}, outputs={"Out": o}),
        tryit(b.append_op, type="relu", inputs={"X": None}, outputs={"Out": o}),
    ]
    return r


def create_parameter():
    b = fluid.default_main_program().global_block()
    p = b.create_parameter(
        shape=[2, 3],
        dtype="float32",
        name="p",
        initializer=fluid.initializer.Constant(2.0),
        trainable=False,
        regularizer=fluid.regularizer.L2Decay(0.1),
        optimize_attr={"learning_rate": 3.0},
    )
    r = [
        p,
        p.trainable,
        p.optimize_attr,
        type(p.regularizer).__name__,
        [o.type for o in b.ops],
        tryit(b.create_parameter, shape=[2, 3], dtype="float32"),
        tryit(b.create_parameter, shape=None, dtype="float32", name="a"),
        tryit(b.create_parameter, shape=[], dtype="float32", name="b"),
        tryit(b.create_parameter, shape=[0, 1], dtype="float32", name="c"),
        tryit(b.create_parameter, shape=[-1, 2], dtype="float32", name="d"),
        tryit(b.create_parameter, shape=[1], dtype=None, name="e"),
        tryit(b.create_parameter, name="f"),
        tryit(Parameter, b, None, "float32"),
        tryit(Parameter, b, [1, 2], None),
        tryit(Parameter, b, [1, 0], "float32"),
        p.error_clip,
        p.is_distributed,
        p.do_model_average,
    ]
    return r


def layers_create_parameter():
    r = [
        tryit(layers.create_parameter, *a)
        for a in (
            ([2], "float32"),
            ((2, 3), "float64", "nm"),
            (3, "float32"),
            (["2"], "float32"),
            ([2], "q"),
            ([2], 3),
            ([0], "float32"),
            ([-1], "float32"),
            ([2], np.float32),
            ([np.int64(2)], "float32"),
            ([2.0], "float32"),
            ([2], "int64"),
        )
    ]
    r += [
        tryit(layers.create_global_var, *a)
        for a in (
            ([2], 1.0, "float32"),
            ([2], 1.0, "float32", True, False, "nm2"),
            (2, 1.0, "float32"),
            ([2], "a", "float32"),
            ([2], 3, "int64"),
            ([2], 1.0, "zz"),
            ([2], 1.0, "float32", True, True),
            ((1,), 0, "float32"),
        )
    ] + [ops(fluid.default_startup_program())]
    return r


def convert_dtype():
    r = [
        tryit(convert_np_dtype_to_dtype_, v)
        for v in (
            "float32",
            "float16",
            "float64",
            "bool",
            "int32",
            "int64",
            "uint8",
            "int8",
            "int16",
            np.float32,
            np.dtype("int64"),
            "uint16",
            "complex64",
            3,
            None,
            float,
            int,
            bool,
        )
    ]
    return r
