"""Tables with named columns: CSV, JSON lines, parquet, spreadsheets, data frames; and what is kept in them."""
