"""What every package stands on: arguments, arrays, labels, printing, files."""
