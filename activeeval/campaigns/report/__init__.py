"""Report of a campaign: its content as values, and a page that presents them."""
