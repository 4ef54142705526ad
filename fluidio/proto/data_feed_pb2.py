"""`data_feed_pb2`: the description of a data feed as a protobuf message."""

from __future__ import annotations

from fluidio.proto.messages import Field, message

__all__ = ["DataFeedDesc", "MultiSlotDesc", "Slot"]

Slot = message(
    "Slot",
    Field("name", 1, str, "required"),
    Field("type", 2, str, "required"),
    Field("is_dense", 3, bool),
    Field("is_used", 4, bool),
    Field("shape", 5, int, "repeated"),
)
MultiSlotDesc = message("MultiSlotDesc", Field("slots", 1, Slot, "repeated"))
DataFeedDesc = message(
    "DataFeedDesc",
    Field("name", 1, str),
    Field("batch_size", 2, int, default=32),
    Field("multi_slot_desc", 3, MultiSlotDesc),
    Field("pipe_command", 4, str),
    Field("thread_num", 5, int),
    Field("rank_offset", 6, str),
    Field("pv_batch_size", 7, int, default=32),
)
