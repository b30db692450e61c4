"""Features on which source and target are hard to tell apart."""
