"""The face of `paddle.fluid.proto`: the messages that scripts parse parameter files with."""

from fluidio.proto import framework_pb2

__all__ = ["framework_pb2"]
