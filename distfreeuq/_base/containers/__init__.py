"""Frames and tensors of other libraries, none of which is imported here."""
