"""What moments of counted predictions tell, and the law of what they tell."""
