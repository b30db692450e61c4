"""What sets achieved: in blocks of dependent rows, and of several methods."""
