"""Monitor search quality night after night: each night (a dated run of a watch) needs judgments only for new items."""
