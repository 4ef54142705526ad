import sys, os, subprocess
import numpy as np
_HAS_FLUID = False
try:
    from paddle import fluid
    _HAS_FLUID = True
    fluid_version = fluid.__version__ if hasattr(fluid, '__version__') else None
except ImportError:
    pass
_HAS_TORCH = False
_IS_WINDOWS = (sys.platform == 'win32')
_IS_MAC = (sys.platform == 'darwin')
_IS_PY2 = sys.version_info[0] == 2

def get_fluid_version():
    import paddle
    paddle_version = int(paddle.__version__.replace('.', ''))
    return paddle_version

def calc_gae(rewards, values, next_value, gamma, lam):
    import scipy.signal
    tds = rewards + gamma * np.append(values[1:], next_value) - values
    advantages = scipy.signal.lfilter([1.0], [1.0, -gamma * lam], tds[::-1])[::-1]
    return advantages
