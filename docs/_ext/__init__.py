"""What the site is made of beside its pages: pages that are written of the code and of stored figures."""
