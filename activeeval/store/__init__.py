"""The durable store of campaigns: rows in SQLite or PostgreSQL. All SQL is in here; it knows rows, not estimates."""
