"""What the user meant: entries by name, and slips that are valid input."""
