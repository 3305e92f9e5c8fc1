"""Parameters: how they are made and what is known about them."""
