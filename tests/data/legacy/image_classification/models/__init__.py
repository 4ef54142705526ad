from .resnet import ResNet18
from .mobilenet import MobileNet
