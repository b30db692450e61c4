"""What calibrators are fitted to: labelled rows in memory, or in blocks."""
