"""Recurrent networks, the pieces of DynamicRNN and StaticRNN, beam search."""
