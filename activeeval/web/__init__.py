"""The judging page: people judge a campaign in a browser, programs over HTTP. Routes, forms and templates only."""
