"""Plan, draw and read samples: what to judge, for how much, and what the judgments say.

`plan` says what a budget buys, `sample` draws, `drawn_sample` is the result with its sheet; `estimate` reads what was
judged, `results` is what it says. `simulate` replays methods where all labels are known.
"""
