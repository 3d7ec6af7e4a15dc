"""The judging page of a campaign: routes, forms and templates for people in a browser and for programs over HTTP."""
