from __future__ import absolute_import
from __future__ import print_function
import six


def str2bool(v):
    return v.lower() in ("true", "t", "1")


class ArgumentGroup(object):
    def __init__(self, parser, title, des):
        self._group = parser.add_argument_group(title=title, description=des)

    def add_arg(self, name, type, default, help, **kwargs):
        type = str2bool if type == bool else type
        self._group.add_argument("--" + name, default=default, type=type, help=help, **kwargs)


def print_arguments(args):
    for arg, value in sorted(six.iteritems(vars(args))):
        print('%s: %s' % (arg, value))
