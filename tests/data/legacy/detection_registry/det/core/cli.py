from argparse import ArgumentParser, RawDescriptionHelpFormatter
import yaml


class ArgsParser(ArgumentParser):
    def __init__(self):
        super(ArgsParser, self).__init__(formatter_class=RawDescriptionHelpFormatter)
        self.add_argument('-c', '--config', default='configs/yolov3.yml')
        self.add_argument('-o', '--opt', nargs='*')
        self.add_argument('-r', '--resume_checkpoint', default=None, type=str)
        self.add_argument('--eval', action='store_true', default=False)

    def parse_args(self, argv=None):
        args = super(ArgsParser, self).parse_args(argv)
        config = {}
        for s in args.opt or []:
            k, v = s.strip().split('=', 1)
            here = config
            for part in k.split('.')[:-1]:
                here = here.setdefault(part, {})
            here[k.split('.')[-1]] = yaml.load(v, Loader=yaml.Loader)
        args.opt = config
        return args
