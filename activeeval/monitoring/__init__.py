"""Watches: the quality of search from night to night, for the price of what is new."""
