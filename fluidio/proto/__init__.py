"""`paddle.fluid.proto`: the messages with which scripts parse parameter files."""

from fluidio.proto import framework_pb2

__all__ = ["framework_pb2"]
