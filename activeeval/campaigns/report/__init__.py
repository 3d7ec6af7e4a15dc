"""What a team reads of its campaign: the content as values, and a page that words it."""
