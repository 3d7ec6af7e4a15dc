"""The frame of results for readers: numbers as text, tables, sentences, pictures, pages."""
