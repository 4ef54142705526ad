"""Optimizers: `fluid.optimizer.Adam(learning_rate=0.001).minimize(loss)`."""

from fluidio.optimizer.adam import AdamaxOptimizer, AdamOptimizer, LambOptimizer
from fluidio.optimizer.adaptive import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    DecayedAdagradOptimizer,
    FtrlOptimizer,
    RMSPropOptimizer,
)
from fluidio.optimizer.average import ExponentialMovingAverage, ModelAverage
from fluidio.optimizer.base import Optimizer
from fluidio.optimizer.momentum import (
    DGCMomentumOptimizer,
    DpsgdOptimizer,
    LarsMomentumOptimizer,
    MomentumOptimizer,
    SGDOptimizer,
)
from fluidio.optimizer.wrappers import LookaheadOptimizer, PipelineOptimizer, RecomputeOptimizer

SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adagrad = AdagradOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
Dpsgd = DpsgdOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Ftrl = FtrlOptimizer
LarsMomentum = LarsMomentumOptimizer
Lamb = LambOptimizer

__all__ = [
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "DGCMomentumOptimizer",
    "DecayedAdagrad",
    "DecayedAdagradOptimizer",
    "Dpsgd",
    "DpsgdOptimizer",
    "ExponentialMovingAverage",
    "Ftrl",
    "FtrlOptimizer",
    "Lamb",
    "LambOptimizer",
    "LarsMomentum",
    "LarsMomentumOptimizer",
    "LookaheadOptimizer",
    "ModelAverage",
    "Momentum",
    "MomentumOptimizer",
    "Optimizer",
    "PipelineOptimizer",
    "RMSProp",
    "RMSPropOptimizer",
    "RecomputeOptimizer",
    "SGDOptimizer",
]
