"""The science: pools, measures, grade models, designs, estimates. This package uses no files, commands or stores.

`pool` holds queries, items, rankings; `measures` their values and moments; `grade_models` p(grade | item). `design`
decides what to judge, `campaign` requests and records judgments, `estimation` has estimates, intervals and tests;
`simulation` replays designs, `planning` forecasts them. `judgments` has the event log and its only fold, `kernels` all
compiled loops.
"""
