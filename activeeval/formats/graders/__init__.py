"""Read graders' grades (of LLMs or other models) from every supported file format."""
