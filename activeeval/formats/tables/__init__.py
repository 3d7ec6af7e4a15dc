"""Tables with named columns (CSV, JSON lines, parquet, spreadsheets, data frames), and readers of their contents."""
