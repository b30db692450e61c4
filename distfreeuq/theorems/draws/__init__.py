"""What experiments of several families draw."""
