import hashlib
from copy import deepcopy
import paddle.fluid as fluid
import numpy as np
from paddle.fluid.executor import _fetch_var
from parl.core.fluid.layers.layer_wrappers import LayerFunc
try:
    from paddle.fluid.framework import Variable
except ImportError:
    Variable = None


def set_value(v, value, is_gpu):
    place = fluid.CPUPlace() if not is_gpu else fluid.CUDAPlace(0)
    fluid.global_scope().find_var(v.name if hasattr(v, 'name') else v).get_tensor().set(value, place)


class Model(object):
    def parameters(self):
        try:
            return self._parameter_names
        except AttributeError:
            self._parameter_names = self._get_parameter_names(self)
            return self._parameter_names

    def _get_parameter_names(self, obj):
        parameter_names = []
        for attr in sorted(obj.__dict__):
            val = getattr(obj, attr, None)
            if isinstance(val, Model):
                parameter_names.extend(self._get_parameter_names(val))
            elif isinstance(val, LayerFunc):
                parameter_names.extend(val.parameter_names)
            elif isinstance(val, tuple) or isinstance(val, list) or isinstance(val, set):
                for x in val:
                    parameter_names.extend(self._get_parameter_names_of(x))
            elif isinstance(val, dict):
                for x in list(val.values()):
                    parameter_names.extend(self._get_parameter_names_of(x))
        return parameter_names

    def _get_parameter_names_of(self, x):
        if isinstance(x, Model):
            return self._get_parameter_names(x)
        return x.parameter_names if isinstance(x, LayerFunc) else []

    def sync_weights_to(self, target_model, decay=0.0, share_vars_parallel_executor=None):
        assert not target_model is self, "cannot copy between identical model"
        assert isinstance(target_model, Model)
        assert self.__class__.__name__ == target_model.__class__.__name__
        assert (decay >= 0 and decay <= 1)
        param_pairs = list(zip(self.parameters(), target_model.parameters()))
        id_ = hashlib.md5((str(decay) + ''.join(a + b for a, b in param_pairs)).encode('utf-8')).hexdigest()
        need_build = getattr(self, '_sync_id', None) != id_
        if need_build:
            self._sync_id = id_
            sync_program = fluid.Program()
            with fluid.program_guard(sync_program):
                for src_name, target_name in param_pairs:
                    src_var = fluid.layers.create_parameter(shape=list(_fetch_var(src_name).shape), dtype='float32', attr=fluid.ParamAttr(name=src_name))
                    target_var = fluid.layers.create_parameter(shape=list(src_var.shape), dtype='float32', attr=fluid.ParamAttr(name=target_name))
                    fluid.layers.assign(decay * target_var + (1 - decay) * src_var, target_var)
            with fluid.program_guard(sync_program):
                use_cuda = True if fluid.core.is_compiled_with_cuda() else False
            self._cached_sync = fluid.CompiledProgram(sync_program).with_data_parallel(places=fluid.cpu_places(1))
            self._exe = fluid.Executor(fluid.CPUPlace())
        self._exe.run(self._cached_sync, fetch_list=[])

    def get_weights(self):
        return [np.array(_fetch_var(name, fluid.global_scope())) for name in self.parameters()]

    def set_weights(self, weights):
        assert len(weights) == len(self.parameters())
        for name, w in zip(self.parameters(), weights):
            set_value(name, w, False)
