"""Read and write line formats: TREC judgments and runs, LETOR, scores, traffic."""
