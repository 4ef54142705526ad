"""Recurrent networks, the ops of DynamicRNN and StaticRNN, beam search."""
