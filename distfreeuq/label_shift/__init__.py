"""Label shift: how often each class occurs in the target, with honest uncertainty."""
