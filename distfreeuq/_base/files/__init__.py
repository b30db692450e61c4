"""Files that results are saved in: archives of arrays, and how they are replaced."""
