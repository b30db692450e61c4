"""Maps of groups that are tied to the one that they share."""
