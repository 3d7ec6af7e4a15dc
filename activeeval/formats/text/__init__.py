"""Lines of text: judgments and runs of TREC, LETOR, scores, traffic."""
