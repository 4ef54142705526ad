"""A script that expects errors and goes on: what is caught, and under which name."""
from __future__ import print_function
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import core, layers as L
exe = fluid.Executor(fluid.CPUPlace())


def attempt(name, f):
    main, start = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(core.Scope()):
        try:
            r = f(main, start)
            print('0.0', name, 'fine', np.round(np.asarray(r, 'float64'), 4).tolist() if r is not None else r)
        except core.EOFException as e:
            print('0.0', name, 'EOF')
        except core.EnforceNotMet as e:
            print('0.0', name, 'enforce')
        except (TypeError, ValueError, AssertionError, KeyError, AttributeError, RuntimeError, NotImplementedError, IndexError) as e:
            print('0.0', name, [c.__name__ for c in (TypeError, ValueError, AssertionError, KeyError, AttributeError, NotImplementedError, IndexError, RuntimeError) if isinstance(e, c)][0])


def wrong_feed_shape(m, s):
    x = fluid.data('x', [None, 4]); o = L.fc(x, 2); exe.run(s)
    return exe.run(m, feed={'x': np.ones((2, 5), 'f')}, fetch_list=[o])[0]
def wrong_dtype(m, s):
    x = fluid.data('x', [None, 4]); o = L.fc(x, 2); exe.run(s)
    return exe.run(m, feed={'x': np.ones((2, 4), 'float64')}, fetch_list=[o])[0]
def old_data_wrong_rank(m, s):
    x = L.data('x', [4]); o = L.reduce_sum(x); return exe.run(m, feed={'x': np.ones((2, 4, 1), 'f')}, fetch_list=[o])[0]
def no_startup(m, s):
    x = fluid.data('x', [None, 4]); o = L.fc(x, 2); return exe.run(m, feed={'x': np.ones((2, 4), 'f')}, fetch_list=[o])[0]
def no_feed(m, s):
    x = fluid.data('x', [None, 4]); o = L.reduce_sum(x); return exe.run(m, feed={}, fetch_list=[o])[0]
def fetch_unknown(m, s):
    L.fill_constant([1], 'float32', 1.); return exe.run(m, fetch_list=['nothing'])[0]
def fetch_number(m, s):
    L.fill_constant([1], 'float32', 1.); return exe.run(m, fetch_list=[3])[0]
def label_out_of_range(m, s):
    x, y = fluid.data('x', [None, 3]), fluid.data('y', [None, 1], 'int64')
    return exe.run(m, feed={'x': np.ones((2, 3), 'f') / 3, 'y': np.array([[1], [7]])}, fetch_list=[L.cross_entropy(x, y)])[0]
def id_out_of_range(m, s):
    x = fluid.data('x', [None, 1], 'int64'); o = L.embedding(x, [5, 2]); exe.run(s)
    return exe.run(m, feed={'x': np.array([[9]])}, fetch_list=[o])[0].shape
def mul_shapes(m, s):
    return L.mul(fluid.data('x', [3, 4]), fluid.data('y', [5, 2])).shape
def add_shapes(m, s):
    return L.elementwise_add(fluid.data('x', [3, 4]), fluid.data('y', [5, 2])).shape
def concat_shapes(m, s):
    return L.concat([fluid.data('x', [3, 4]), fluid.data('y', [5, 2])], 1).shape
def not_a_variable(m, s):
    return L.fc(np.ones((2, 3), 'f'), 3)
def unknown_act(m, s):
    return L.fc(fluid.data('x', [3, 4]), 3, act='nonsense').shape
def loss_not_scalar(m, s):
    x = fluid.data('x', [3, 4]); fluid.optimizer.SGD(.1).minimize(L.fc(x, 2)); exe.run(s)
    return exe.run(m, feed={'x': np.ones((3, 4), 'f')}, fetch_list=[])
def no_parameters(m, s):
    x = fluid.data('x', [3, 4]); fluid.optimizer.SGD(.1).minimize(L.mean(x))
def lr_missing(m, s):
    return fluid.optimizer.SGD()
def lr_of_type(m, s):
    return fluid.optimizer.SGD('fast')
def bad_lod(m, s):
    return fluid.create_lod_tensor(np.ones((5, 1)), [[2, 2]], fluid.CPUPlace())
def bad_initializer(m, s):
    return L.create_parameter([2, 2], 'float32', default_initializer=fluid.initializer.Normal(0, 'a'))
def duplicate_name(m, s):
    L.create_parameter([2, 2], 'float32', name='p'); return L.create_parameter([3, 2], 'float32', name='p').shape
def batch_one(m, s):
    x = fluid.data('x', [None, 4]); o = L.batch_norm(x); exe.run(s); return exe.run(m, feed={'x': np.ones((1, 4), 'f')}, fetch_list=[o])[0]
def version(m, s):
    fluid.require_version('1.6.0'); fluid.require_version('1.8.0')
def flag(m, s):
    print('0.0', fluid.get_flags(['FLAGS_eager_delete_tensor_gb'])); fluid.set_flags({'FLAGS_nonsense': 1})
def closed(m, s):
    e = fluid.Executor(fluid.CPUPlace()); e.close(); o = L.fill_constant([1], 'float32', 2.); return e.run(m, fetch_list=[o])[0]
def guard_type(m, s):
    with fluid.program_guard('main'):
        pass
def cond_type(m, s):
    return L.cond(L.fill_constant([1], 'bool', True), lambda: L.fill_constant([1], 'float32', 1.), lambda: [L.fill_constant([1], 'float32', 1.)] * 2)
def while_type(m, s):
    return L.while_loop(lambda i: i, lambda i: i, [])
def split_uneven(m, s):
    return [v.shape for v in L.split(fluid.data('x', [5, 4]), 2, 0)]
def reshape_two_unknown(m, s):
    return L.reshape(fluid.data('x', [5, 4]), [-1, -1]).shape
def conv_groups(m, s):
    return L.conv2d(fluid.data('x', [1, 3, 8, 8]), 4, 3, groups=2).shape
def pool_type(m, s):
    return L.pool2d(fluid.data('x', [1, 3, 8, 8]), 2, 'middle').shape
def dropout_prob(m, s):
    return L.dropout(fluid.data('x', [1, 3]), 1.5).shape
def one_hot_depth(m, s):
    x = fluid.data('x', [2, 1], 'int64'); o = L.one_hot(x, 3); return exe.run(m, feed={'x': np.array([[1], [5]])}, fetch_list=[o])[0]
def topk_too_many(m, s):
    return L.topk(fluid.data('x', [2, 3]), 5)[0].shape
def save_without_target(m, s):
    fluid.io.save_inference_model('zz', ['x'], [], exe, m)
def load_nothing(m, s):
    fluid.io.load_inference_model('not_there', exe)
def parse_junk(m, s):
    fluid.Program.parse_from_string(b'\x08junk')
def py_func_error(m, s):
    x = fluid.data('x', [2]); out = m.current_block().create_var(name='o', dtype='float32', shape=[2])
    def bad(a):
        raise KeyError('mine')
    return exe.run(m, feed={'x': np.ones(2, 'f')}, fetch_list=[L.py_func(bad, x, out)])[0]


for n, f in list(globals().items()):
    if callable(f) and not n.startswith('_') and getattr(f, '__code__', None) is not None and f.__code__.co_argcount == 2 and f is not attempt:
        attempt(n, f)
