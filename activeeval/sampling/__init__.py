"""Plan, draw and read samples: choose which items to judge within a budget, and estimate measures from the judgments.

`plan` predicts the precision of a budget, `sample` draws, `drawn_sample` is the result with its sheet. `estimate`
reads the judgments, `results` holds the estimates. `simulate` replays methods on pools with known labels.
"""
