"""What machines say of items, read from every form that such files come in."""
