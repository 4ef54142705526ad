"""Helpers shared by the training and evaluation scripts."""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import distutils.util
import six
import numpy as np


def print_arguments(args):
    print("-----------  Configuration Arguments -----------")
    for arg, value in sorted(six.iteritems(vars(args))):
        print("%s: %s" % (arg, value))
    print("------------------------------------------------")


def add_arguments(argname, type, default, help, argparser, **kwargs):
    type = distutils.util.strtobool if type == bool else type
    argparser.add_argument(
        "--" + argname, default=default, type=type,
        help=help + ' Default: %(default)s.', **kwargs)
