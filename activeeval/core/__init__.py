"""The science: pools, measures, grade models, designs, estimates. Nothing in here knows files, commands or stores.

`pool` holds queries, items, rankings; `measures` their values and moments; `grade_models` p(grade | item). `design`
says what to judge, `campaign` asks for it and reads it, `estimation` has estimates, intervals and tests; `simulation`
replays designs, `planning` forecasts them. `judgments` is the log and its one fold, `kernels` all compiled loops.
"""
