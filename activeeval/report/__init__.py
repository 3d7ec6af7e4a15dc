"""Presentation of results: numbers as text, tables, sentences, charts, pages."""
