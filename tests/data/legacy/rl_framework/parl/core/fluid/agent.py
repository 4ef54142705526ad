import os
import paddle.fluid as fluid


class Agent(object):
    def __init__(self, algorithm):
        self.alg = algorithm
        self.gpu_id = 0 if fluid.core.is_compiled_with_cuda() else -1
        self.build_program()
        self.place = fluid.CUDAPlace(0) if self.gpu_id >= 0 else fluid.CPUPlace()
        self.fluid_executor = fluid.Executor(self.place)
        self.fluid_executor.run(fluid.default_startup_program())

    def build_program(self):
        raise NotImplementedError

    def save(self, save_path, program=None):
        if program is None:
            program = self.learn_program
        dirname = '/'.join(save_path.split('/')[:-1])
        filename = save_path.split('/')[-1]
        fluid.io.save_params(executor=self.fluid_executor, dirname=dirname, main_program=program, filename=filename)

    def restore(self, save_path, program=None):
        if program is None:
            program = self.learn_program
        if type(program) is fluid.compiler.CompiledProgram:
            program = program._init_program
        dirname = '/'.join(save_path.split('/')[:-1])
        filename = save_path.split('/')[-1]
        fluid.io.load_params(executor=self.fluid_executor, dirname=dirname, main_program=program, filename=filename)
