from parl.core.fluid.model import Model
from parl.core.fluid.algorithm import Algorithm
from parl.core.fluid.agent import Agent
from parl.core.fluid import layers
