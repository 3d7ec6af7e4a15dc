"""Calls of the command line that are wrong, each with its exit code and the line that it must get.

An entry is (name, files to write before, arguments, exit code, regular expression). With exit code 1 the
expression must match all that stderr holds after ``activeeval: ``, with 2 all after ``Error: ``.
"""

# ruff: noqa: E501
from __future__ import annotations

import gzip

from broken_preferences import BROKEN_PREFERENCES

LETOR = "simulate --letor a.txt --scores a.score --budget 20% --repetitions 20"
RUNS = "simulate --qrels q.qrels --run a.run --budget 20% --repetitions 20"
SAMPLE = "sample --run a.run --max-grade 3"
DESIGN = "design --run a.run --max-grade 3"
SCORE = "score q.qrels a.run"
ROW = "{} qid:{} 1:0.5 2:1 3:10 #docid = {}\n"
PROBS = "qid,docid,p0,p1\n"
TINY = {"x.qrels": "1 0 a 1\n1 0 b 0\n2 0 a 1\n", "x.run": "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n"}
TINY_POOL = "simulate --qrels x.qrels --run x.run --budget 3 --repetitions 20"
SHEET = "sample,block,query_id,doc_id,grade\n"
ENDINGS = r"\.csv, \.tsv, \.jsonl, \.parquet"
READ_ENDINGS = rf"{ENDINGS}, \.xlsx, \.ods"
PICTURES = r"\.png, \.svg, \.pdf"
ONE_GRADE = "".join(ROW.format(1, 5000 + i // 3, i) for i in range(30))
METHODS = "passive, active, active_uniC, active_uniD, random, whole, .*, depth, .*, items"
OPEN = r"is not in the range 0<x<1\."


TOO_SMALL = r"DCG, passive: --budget {} does not pay for the most expensive query \({} at most\): --budget {}"
LEVELS_TOO_SMALL = r"--budget 1\.5 does not pay for the most expensive unit \(2 at most\): --budget 2"

PLAN = "plan --run a.run --versus-run b.run --max-grade 3"

TWO_GRADES = {"x.csv": "query_id,doc_id,grade,judge\nq,a,1,ann\nq,a,2,Ann\n"}
AGREEMENTS = [
    ("agreement of one judge", {"x.qrels": "q 0 a 1\n"}, "agreement x.qrels", 1,
     r"grades: there is only one judge, 'x\.qrels': agreement needs at least two"),
    ("agreement without an item in common", {"x.qrels": "q 0 a 1\n", "y.qrels": "q 0 b 1\n"}, "agreement x.qrels y.qrels", 1,
     r"grades: no two judges graded the same item, so there is nothing to compare"),
    ("agreement of a judge who differs", TWO_GRADES, "agreement x.csv", 1,
     r"document 'a' of query 'q' has two grades of judge 'ann', 1 and 2"),
    ("agreement of nobody yet", {"x.csv": "query_id,doc_id,grade\nq,a,\n"}, "agreement x.csv", 1,
     r"x\.csv: there are no judgments yet"),
    ("agreement of nothing", {}, "agreement", 2, r"Missing argument 'FILE\.\.\.'\."),
    ("agreement of a file that is not there", {}, "agreement x.csv", 1, r"x\.csv: no such file"),
    ("agreement of a broken truth", {"x.csv": "query,rank,doc_id\nq,2,a\n"}, "agreement x.csv", 1,
     r"x\.csv:2: column rank: query 'q' has a rank 2, but none of 1"),
]  # fmt: skip

PLANS = [
    ("a half-width and a budget", {}, f"{PLAN} --half-width 1 --budget 10", 2,
     r"--half-width asks which budget: give that or --budget"),
    ("no half-width", {}, f"{PLAN} --half-width 0", 2, r"Invalid value for '--half-width': 0\.0 is not in the range x>0\."),
    ("a power of one", {}, f"{PLAN} --difference 1 --power 1", 2, rf"Invalid value for '--power': 1\.0 {OPEN}"),
    ("a sheet without a pilot", {}, f"{PLAN} --half-width 1 --sheet x.csv", 2,
     r"--sheet holds the judgments of a --pilot: give the pilot's sample, too"),
    ("no pilot there", {}, f"{PLAN} --half-width 1 --pilot x.sample", 1, r"x\.sample: no such file"),
    ("a plan for too little", {}, "plan --letor a.txt --scores a.score --max-grade 3 --measure ERR@3 --budget 1", 1,
     r"--budget 1 does not pay for the most expensive unit \(3 at most\): --budget 3"),
    ("a plan of one run twice", {}, "plan --run a.run --versus-run a.run --max-grade 3 --half-width 1", 1,
     r"no label can change DCG.*: the ranking does not differ from the other where it counts, there is nothing to judge"),
    ("a picture of a plan", {}, f"{PLAN} --half-width 1 --plot x.txt", 1, rf"x\.txt: expected a name that ends in {PICTURES}"),
]  # fmt: skip
FILES = [
    ("ranked twice", {"x.run": "q1 Q0 a 1 2 r\nq1 Q0 a 2 1 r\n"}, "score q.qrels x.run P@2", 1,
     r"x\.run:2: document 'a' of query 'q1' is there twice, first at line 1; expected it once"),
    ("judged twice", {"x.qrels": "q1 0 a 1\nq1 0 a 1\n"}, "score x.qrels a.run P@2", 1,
     r"x\.qrels:2: document 'a' of query 'q1' is there twice, first at line 1; expected it once"),
    ("files swapped", {}, "score a.run q.qrels P@2", 1,
     r"q\.qrels:1: 4 columns in 'q1 0 d0 -?\d', expected 6: query Q0 document rank score tag"),
    ("NaN score in a run", {"x.run": "q1 Q0 a 1 nan r\n"}, "score q.qrels x.run P@2", 1,
     r"x\.run:1: 'nan' is not a finite number, expected: query Q0 document rank score tag"),
    ("NaN in a score file", {"x.score": "nan\n"}, LETOR.replace("a.score", "x.score"), 1,
     r"x\.score:1: .*'nan'.* finite .*"),
    ("NaN feature", {"x.txt": "1 qid:1 1:nan\n"}, LETOR.replace("a.txt", "x.txt"), 1,
     r"x\.txt:1: .*nan.*finite.*"),
    ("too few scores", {}, LETOR.replace("a.score", "b.score"), 1, r"b\.score: \d+ scores for \d+ lines of a\.txt"),
    ("too few second scores", {}, LETOR + " --scores b.score", 1, r"b\.score: \d+ scores for \d+ lines of a\.txt"),
    ("a ranker three times", {}, LETOR + " --scores a.score --scores a.score", 2, r"--scores: a\.score is given twice, expected each system once"),
    ("a file twice", {}, LETOR.replace("--letor a.txt", "--letor a.txt --letor a.txt"), 1,
     r"a\.txt:1: query '1' has lines in two places, first at a\.txt:1; expected a query's lines together"),
    *((f"{what} to {line.split()[0]}", files, line, 1, expected)
      for line in ("score q.qrels x.run P@2", "compare x.run b.run --qrels q.qrels", "simulate --qrels q.qrels --run x.run",
                   "sample --run a.run --train q.qrels --versus-run x.run --budget 9 --out x.sample --sheet x.csv")
      for what, files, expected in (
          ("no common query", {"x.run": "qY Q0 d0 1 1 r\n"},
           r"(q\.qrels and x\.run|a\.run and x\.run) share no query: the first of [aq]\.\w+ is 'q1', of x\.run 'qY'"),
          ("no common document", {"x.run": "qY Q0 d0 1 1 r\nq1 Q0 D0 1 1 r\n"},
           r"(q\.qrels and x\.run|a\.run and x\.run) share no document of a query: of query 'q1' they have 'd\d+' and 'D0' first"))),
    ("runs that share no query", {"x.run": "q2 Q0 d1 1 1 r\n", "y.run": "q1 Q0 d1 1 1 r\nqX Q0 d1 1 1 r\n"},
     "score q.qrels x.run P@2 --versus y.run", 1,
     r"x\.run and y\.run share no query: the first of x\.run is 'q2', of y\.run 'q1'"),
    ("runs that share no document", {"x.run": "q1 Q0 d1 1 1 r\n", "y.run": "q1 Q0 d2 1 1 r\nqX Q0 d1 1 1 r\n"},
     "score q.qrels x.run P@2 --versus y.run", 1,
     r"x\.run and y\.run share no document of a query: of query 'q1' they have 'd1' and 'd2' first"),
    ("a file as both runs of no query", {"x.run": "qY Q0 d0 1 1 r\n"}, "compare x.run x.run --qrels q.qrels", 1,
     r"q\.qrels and x\.run share no query: the first of q\.qrels is 'q1', of x\.run 'qY'"),
    ("missing qrels", {}, "score gone a.run P@2", 1, r"gone: no such file"),
    ("missing run", {}, "score q.qrels gone P@2", 1, r"gone: no such file"),
    ("missing second run", {}, SCORE + " P@2 --versus gone", 1, r"gone: no such file"),
    ("missing LETOR", {}, LETOR.replace("a.txt", "gone"), 1, r"gone: no such file"),
    ("missing training", {}, LETOR + " --train gone", 1, r"gone: no such file"),
    ("missing pool run", {}, RUNS + " --pool-run gone", 1, r"gone: no such file"),
    ("missing costs", {}, LETOR + " --cost gone", 1, r"gone: no such file"),
    ("missing probabilities", {}, LETOR + " --model probs=gone.csv", 1, r"gone\.csv: no such file"),
    ("missing draws", {}, "estimate gone.sample gone.csv", 1, r"gone\.sample: no such file"),
    ("a directory for a run", {}, "compare . a.run --qrels q.qrels", 1, r"\.: is a directory, expected a file"),
    ("a directory for scores", {}, LETOR.replace("a.score", "."), 1, r"\.: is a directory, expected a file"),
    ("gzip cut short", {"x.gz": gzip.compress(b"1 qid:1 1:2\n" * 99)[:-9]}, LETOR.replace("a.txt", "x.gz"), 1,
     r"x\.gz: the gzip file is cut short, expected its end marker"),
    ("gzip broken", {"x.gz": b"\x1f\x8b rubbish"}, LETOR.replace("a.score", "x.gz"), 1,
     r"x\.gz: the gzip file is (cut short|broken).*"),
    ("UTF-16", {"x.txt": "1 qid:1 1:1\n".encode("utf-16")}, LETOR.replace("a.txt", "x.txt"), 1,
     r"x\.txt:1: the text is UTF-16, expected UTF-8"),
    ("latin-1", {"x.run": b"q1 Q0 caf\xe9 1 1 r\n"}, "score q.qrels x.run P@2", 1,
     r"x\.run:1: the bytes b'\\xe9.*' are not UTF-8, expected UTF-8 text"),
    ("empty qrels", {"x.qrels": ""}, "score x.qrels a.run P@2", 1, r"x\.qrels: the file is empty"),
    ("empty pool", {"x.txt": "# nothing\n"}, LETOR.replace("a.txt", "x.txt"), 1, r"x\.txt: .*no.*"),
    *((f"nobody judged to {command}", {"x.qrels": "q1 0 d1 -1\n"},
       f"--quiet {command} --qrels x.qrels --run a.run --max-grade 2", 1,
       r"no item of the pool is judged, so there is no truth to compare with") for command in ("simulate", "calibration")),
    *((f"missing LETOR to {command}", {}, f"{command} --letor gone --scores a.score", 1, r"gone: no such file")
      for command in ("calibration", "design --out x.csv")),
]  # fmt: skip

MODELS = [
    ("probabilities off 1", {"x.csv": PROBS + "1,d1-0,0.5,0.6\n"}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv:2: column p0 … p1: the row of document 'd1-0' of query '1' sums to 1\.1, expected 1"),
    ("negative probability", {"x.csv": PROBS + "1,d1-0,-0.5,1.5\n"}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv:2: column p0: holds -0\.5 at document 'd1-0' of query '1', expected a probability"),
    ("NaN probability", {"x.csv": PROBS + "1,d1-0,nan,1\n"}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv:2: column p0: holds nan, expected a finite number"),
    ("item without probabilities", {"x.csv": PROBS + "1,d1-0,0.5,0.5\n"}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv: no probabilities for item 'd1-1' of query '1', nor for \d+ more"),
    ("item with two rows", {"x.csv": PROBS + "1,d1-0,0.5,0.5\n" * 2}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv:3: column docid: document 'd1-0' of query '1' is there twice, first at line 2; expected it once"),
    ("columns with a gap", {"x.csv": "qid,docid,p0,p2\n1,d1-0,0.5,0.5\n"}, LETOR + " --model probs=x.csv", 1,
     r"x\.csv: no columns p0, p1, … without a gap in: qid, docid, p0, p2; expected one for each grade"),
    ("more columns than grades", {}, DESIGN.replace("3", "2") + " --model probs=q.probs.csv --out x.csv", 1,
     r"q\.probs\.csv: no probabilities for item 'd0' of query 'qX'"),
    ("more columns than the scale", {}, LETOR + " --model probs=a.probs.csv --max-grade 2", 1,
     r"labels or probabilities go up to grade 3, above --max-grade 2"),
    ("labels above --max-grade", {}, LETOR + " --max-grade 2", 1,
     r"labels or probabilities go up to grade 3, above --max-grade 2"),
    ("labels above max_rel", {}, LETOR + " --measure ERR(max_rel=2)", 1,
     r"the scale goes up to grade 3, above the largest of ERR\(max_rel=2\), 2"),
    ("score above max_rel", {}, "--quiet " + SCORE + " ERR(max_rel=2)", 1,
     r"grade 3 of item 'd\d+' of query 'q\d+' is above the measure's largest, 2"),
    ("a machine's grades as a model", {}, RUNS + " --model grades=x.qrels", 2,
     r"--model grades=x\.qrels: give a grader's grades as --grader x\.qrels"),
    ("a grader of nothing", {}, RUNS + " --grader none.qrels", 1, r"none\.qrels: .*[Nn]o such file.*"),
    ("two graders of one name", {"x.qrels": "q1 0 d1 1\n"}, RUNS + " --grader x.qrels --grader q.qrels:name=x", 2,
     r"two of --grader are called 'x': give each a name, as FILE:name=ours"),
    ("a grader of files to train on", {}, LETOR + " --train t.txt --grader x.qrels", 2,
     r"--grader: the graders have no grades for the files of --train: train with a share of the queries, as 40%"),
    ("a model twice", {}, LETOR + " --train t.txt --model logit --model logit", 1,
     r"grade models must each be named once, got logit, logit"),
    ("scores of files to train on", {}, LETOR + " --train t.txt --model scores", 2,
     r"--model scores has no scores of the files of --train: give it a share of the queries, as 40%"),
    ("a grader of other items", {"x.qrels": "zz 0 d 1\n"}, RUNS + " --grader x.qrels", 1,
     r"x\.qrels: none of its 1 grades is of an item of the pool.*"),
    ("probs without a name", {}, LETOR + " --model probs=", 2, r"--model probs=FILE needs the name of a file"),
    ("probs of no table", {}, LETOR + " --model probs=a.txt", 1,
     rf"a\.txt: is not a table by its name, expected one that ends in {READ_ENDINGS}"),
    ("unknown model", {}, LETOR + " --model tree", 1, r"unknown model 'tree'; known: forest, logit, uniform, scores, probs=FILE"),
    ("a forest of nothing", {}, LETOR + " --model forest", 1,
     r"the forest model has nothing to learn from: give training data, or use the uniform model"),
    ("one grade to train on", {"x.txt": ONE_GRADE}, LETOR + " --train x.txt", 1,
     r"only grade 1 occurs in the training data, a grade model needs at least two different grades"),
    ("one grade to train a logit on", {"x.txt": ONE_GRADE}, LETOR + " --train x.txt --model logit", 1,
     r"only grade 1 occurs in the training data, a grade model needs at least two different grades"),
    ("one query to tune on", {"x.txt": ROW.format(0, 9000, 1) + ROW.format(1, 9000, 2)}, LETOR + " --train x.txt --model forest:tune", 1,
     r"tuning splits by query and needs at least two queries"),
    ("training on the pool", {}, LETOR + " --train a.txt", 1,
     r"a\.txt: query '1' is in the pool too; train on queries outside it"),
    ("more features than the pool", {"x.txt": "1 qid:9000 7:1\n0 qid:9000 1:1\n"}, LETOR + " --train x.txt", 1,
     r"x\.txt: 7 features, the pool has 3"),
    ("a fraction that is nothing", {}, LETOR + " --train 0.001", 1,
     r"the training fraction 0\.001 of 40 queries must leave some on either side"),
    ("a fraction that is all", {}, LETOR + " --train 0.999", 1,
     r"the training fraction 0\.999 of 40 queries must leave some on either side"),
    ("a fraction of 1", {}, LETOR + " --train 1", 2, r"--train takes a share between 0 and 1, as 40%, got 1"),
    ("a negative fraction", {}, LETOR + " --train -0.5", 2, r"--train takes a share between 0 and 1, as 40%, got -0\.5"),
]  # fmt: skip

MEASURES = [
    ("unknown measure", {}, SCORE + " foo@3", 1,
     r"unknown measure 'foo@3'; known: nDCG, DCG, ERR, RBP, P, R, Success, RR, AP, Judged, kNDCG, kERR, Additive, RankGains, as nDCG@10 or ERR\(max_rel=4\)@20"),
    ("misspelt measure", {}, SCORE + " ndgc@10", 1, r"unknown measure 'ndgc@10'; did you mean nDCG@10\? known: nDCG, DCG, .*"),
    ("misspelt parameter", {}, SCORE + " ERR(max_grade=4)", 1,
     r"measure 'ERR\(max_grade=4\)': unknown parameter 'max_grade'; did you mean max_rel\? known: max_rel"),
    ("misspelt method", {}, LETOR + " --method pasive", 1, rf"unknown method 'pasive'; did you mean passive\? known: {METHODS}"),
    ("misspelt model", {}, LETOR + " --model forrest", 1,
     r"unknown model 'forrest'; did you mean forest\? known: forest, logit, uniform, scores, probs=FILE"),
    ("misspelt interval", {}, LETOR + " --interval group-sequental", 1,
     r"unknown interval 'group-sequental'; did you mean group-sequential\? known: t, group-sequential"),
    ("an interval that is gone, of a simulation", {}, LETOR + " --interval skewed", 1,
     r"interval 'skewed' was removed: use t, the default"),
    ("an interval that is gone, of a campaign", {}, "campaign estimate week1 --interval logit", 2,
     r"--interval logit is gone: use --interval t, the default"),
    ("misspelt column", {"x.csv": "qid,docno,relevence\nq1,a,1\n"}, "score x.csv a.run P@2", 1,
     r"x\.csv:1: no grade column in: qid, docno, relevence; 'relevence': did you mean relevance\? "
     r"expected relevance or label or grade or score"),
    ("no such column", {"x.csv": "docno,relevance\na,1\n"}, "score x.csv a.run P@2", 1,
     r"x\.csv:1: no query column in: docno, relevance; expected query_id or q_id or qid"),
    ("an id of something else", {"x.csv": "doc_id,relevance\na,1\n"}, "score x.csv a.run P@2", 1,
     r"x\.csv:1: no query column in: doc_id, relevance; expected query_id or q_id or qid"),
    ("R without cutoff", {}, SCORE + " R", 1, r"measure 'R': R needs a cutoff, as R@10"),
    ("unreadable measure", {}, SCORE + " 3@3", 1,
     r"cannot read the measure '3@3'; expected Name\(k=v,…\)@cutoff, as nDCG@10 or ERR\(max_rel=4\)@20"),
    ("unknown parameter", {}, SCORE + " DCG(base=2)", 1, r"measure 'DCG\(base=2\)': unknown parameter 'base'; known: dcg, gains"),
    ("unknown formulation", {}, SCORE + " DCG(dcg='log3')", 1,
     r"measure \"DCG\(dcg='log3'\)\": dcg must be 'log2' or 'exp-log2', got 'log3'"),
    ("gains with a gap", {}, SCORE + " DCG(gains={0:0,2:1})", 1,
     r"measure 'DCG\(gains=\{0:0,2:1\}\)': gains must map each grade from 0 to a number, got \{0: 0, 2: 1\}"),
    ("cutoff 0", {}, SCORE + " P@0", 1, r"measure 'P@0': the cutoff must be a positive whole number, got '0'"),
    ("cutoff of no number", {}, SCORE + " P@ten", 1, r"measure 'P@ten': the cutoff must be a positive whole number, got 'ten'"),
    *((f"vast cutoff {name[:4]}", {}, f"{SCORE} {name}", 1, r"measure '\w+@?9+: the cutoff must be a positive whole number, got '9{59}")
      for name in ("DCG@" + "9" * 5000, "P_" + "9" * 5000)),
    ("a scale without end", {}, f"{SCORE} ERR(max_rel=500000000)", 1,
     r"measure 'ERR\(max_rel=500000000\)': max_grade must be at most 1000, got 500000000"),
    ("gains without end", {}, f"{SCORE} DCG(gains={{{','.join(f'{y}:1' for y in range(1002))}}})", 1,
     r"measure 'DCG.*: gains of 1002 grades, expected at most 1001"),
    *((f"a scale without end: {line.split()[0]}", {}, f"{line} --max-grade 1001", 2,
       r"Invalid value for '--max-grade': 1001 is not in the range 1<=x<=1000\.")
      for line in (f"{SAMPLE.removesuffix(' --max-grade 3')} --measure DCG@3 --budget 5 --out x.npz",
                   "compare a.run b.run --qrels q.qrels --measure DCG@3 --budget 5")),
    ("an id of 130 KB", {"x.qrels": f"q1 0 {'d' * 130_000} 1\n"}, "score x.qrels a.run P@2", 1,
     r"x\.qrels:1: an id of 130000 bytes, 'd+…', expected at most 4096"),
    ("a gzip bomb", {"x.qrels": gzip.compress(b"q1 0 d 1\n" * 9_000_000, 1)}, "score x.qrels a.run P@2", 1,
     r"x\.qrels: unpacks to more than 37 MB, expected at most 16 MB or 100 times its size"),
    ("nested minus signs", {}, f"{SCORE} RBP(p={'-' * 20_000}1)", 1, r"measure 'RBP\(p=-+: cannot read the parameters 'p=-+; expected k=v, k=v"),
    ("a dict for a key", {}, SCORE + " DCG(gains={{}:1})", 1, r"measure .*: cannot read the parameters .*"),
    ("P without cutoff", {}, SCORE + " P", 1, r"measure 'P': P needs a cutoff, as P@10"),
    ("p of 1", {}, SCORE + " RBP(p=1)", 1, r"measure 'RBP\(p=1\)': p must lie strictly between 0 and 1, got 1"),
    ("rel of 1.5", {}, SCORE + " AP(rel=1.5)", 1, r"measure 'AP\(rel=1\.5\)': rel must be .*, got 1\.5"),
    ("max_rel of 0", {}, SCORE + " ERR(max_rel=0)", 1,
     r"measure 'ERR\(max_rel=0\)': max_grade must be a positive whole number, got 0"),
    *((f"{name} in words", {}, f"{SCORE} {name}", 1, r"measure \S+: .* got 'a'")
      for name in ("RBP(p='a')", "P(rel='a')@2", "ERR(max_rel='a')", "nDCG(dcg='a')")),
    ("gains in words", {}, SCORE + " DCG(gains={0:'a'})", 1, r"measure \S+: gains .*'a'.*"),
    ("gains below the grades", {}, "--quiet " + SCORE + " nDCG(gains={0:0,1:1})", 1,
     r"grade [23] of item 'd\d+' of query 'q\d+' is above the measure's largest, 1"),
    *((f"Judged@10 to {command.split()[0]}", {}, f"{command} --measure Judged@10", 1,
       r"Judged@10 can be scored but not sampled for: it has no moments under a grade model; choose DCG, ERR, RBP, P, Success, RR, nDCG, R or AP")
      for command in (LETOR.replace("a.txt", "gone"), "sample --run gone --budget 17% --out x.sample --sheet x.csv",
                      "design --run gone --out x.csv", "calibration --run gone")),
    *((f"unknown method to {command.split()[0]}", {}, f"{command} --method best", 1,
       rf"unknown method 'best'; known: {METHODS}")
      for command in (LETOR.replace("a.txt", "gone"), SAMPLE + " --budget 17% --out x.sample --sheet x.csv", DESIGN + " --out x.csv")),
    ("items for ERR", {}, "--quiet " + RUNS + " --method items --measure ERR@5", 1,
     r"method 'items' is for additive measures \(DCG, RBP, P\), not for ERR@5"),
    ("items for one measure of two", {}, "--quiet " + RUNS + " --method items --measure DCG --measure AP", 1,
     r"method 'items' is for additive measures \(DCG, RBP, P\), not for AP"),
    *((f"{method} for {measure} to {command.split()[0]}", {}, f"{command} --method {method} --measure {measure}", 1,
       rf".*additive measures \(DCG, RBP, P\), not for {printed}")
      for command in (SAMPLE + " --budget 17% --out x.sample --sheet x.csv", DESIGN + " --out x.csv")
      for method, measure, printed in (("items", "ERR@5", r"ERR@5"), ("items", "AP", r"AP"),
                                       ("items_plain", "nDCG@3", r"nDCG@3"))),
]  # fmt: skip

COSTS = [
    ("a cost of 0", {"x.costs": "1\n0\n"}, LETOR + " --cost x.costs", 1,
     r"x\.costs:2: the cost 0\.0 is not positive, expected a positive number"),
    ("a negative cost", {"x.costs": "-1\n"}, LETOR + " --cost x.costs", 1,
     r"x\.costs:1: the cost -1\.0 is not positive, expected a positive number"),
    ("a NaN cost", {"x.costs": "nan\n"}, LETOR + " --cost x.costs", 1, r"x\.costs:1: .*'nan'.*finite.*"),
    ("too few costs", {**TINY, "x.costs": "1\n1\n"}, TINY_POOL + " --cost x.costs", 1, r"x\.costs: 2 costs for 3 items"),
    ("an item without a cost", {**TINY, "x.csv": "qid,docno,cost\n1,a,1\n1,b,1\n"}, TINY_POOL + " --cost x.csv", 1,
     r"x\.csv: no cost for item 'a' of query '2'"),
    ("a zero cost in a table", {**TINY, "x.csv": "qid,docno,cost\n1,a,0\n"}, TINY_POOL + " --cost x.csv", 1,
     r"x\.csv:2: column cost: holds 0\.0, expected a positive number"),
    *((f"cost {kind}", {}, f"{LETOR} --cost {kind}", 1,
       rf"the cost '{kind}' is not uniform, log-length:FEATURE with FEATURE from 1 to 3, or a file")
      for kind in ("log-length", "log-length:0", "log-length:4", "log-length:x")),
    ("a length below 0", {}, LETOR + " --cost log-length:1", 1,
     r"feature 1 is no length at item 'd\d+-\d+' of query '\d+': -\d\.\d+"),
    ("a length that is missing", {"x.txt": "1 qid:1 1:NULL #docid = d\n", "x.score": "1\n"},
     "simulate --letor x.txt --scores x.score --cost log-length:1", 1, r"feature 1 is no length at item 'd' of query '1': nan"),
    *((f"overhead {value}", {}, f"{LETOR} --overhead {value}", 2, rf"Invalid value for '--overhead': {expected}")
      for value, expected in (("-1", r"-1\.0 is not in the range x>=0\."), ("nan", r"nan is not a finite number\."),
                              ("inf", r"inf is not a finite number\."), ("x", r"'x' is not a valid float range\."))),
]  # fmt: skip

BUDGETS = [
    *((f"budget {value} to {command.split()[0]}", {}, f"{command} --budget {value}", 2,
       rf"Invalid value for '--budget': {expected}")
      for command in (LETOR, SAMPLE + " --out x.sample --sheet x.csv", DESIGN + " --out x.csv")
      for value, expected in (("0", r"the budget must be a positive number, got '0'"),
                              ("-3", r"the budget must be a positive number, got '-3'"),
                              ("nan", r"the budget must be a positive number, got 'nan'"),
                              ("inf", r"the budget must be a positive number, got 'inf'"),
                              ("0%", r"the budget must be a percentage above 0, at most 100, got '0%'"),
                              ("101%", r"the budget must be a percentage above 0, at most 100, got '101%'"),
                              ("%", r"a budget is a number of judgments, as 200, or a share, as 10%, got '%'"),
                              ("much", r"a budget is a number of judgments, as 200, or a share, as 10%, got 'much'"))),
    ("below the dearest query", TINY, "--quiet " + TINY_POOL.replace("--budget 3", "--budget 1.5"), 1,
     TOO_SMALL.format(r"1\.5", 2, 2)),
    ("a share below it", TINY, "--quiet " + TINY_POOL.replace("--budget 3", "--budget 50%"), 1,
     r"DCG, passive: --budget 50% \(1\.5 judgments\) does not pay for the most expensive query \(2 at most\):"
     r" --budget 66\.67%"),
    *((f"{method} below the dearest query", TINY,
       f"--quiet sample --run x.run --max-grade 1 --budget 1.5 --out x.sample --sheet x.csv --method {method}", 1,
       TOO_SMALL.removeprefix(r"DCG, passive: ").format(r"1\.5", 2, 2))
      for method in ("passive", "active", "active_uniD")),
    *((f"{method} below its dearest unit", TINY,
       f"--quiet sample --run x.run --max-grade 1 --budget 1.5 --out x.sample --sheet x.csv --method {method}", 1, LEVELS_TOO_SMALL)
      for method in ("random", "whole", "depth", "depth_plain")),
    ("items below its dearest unit", TINY,
     "--quiet sample --run x.run --max-grade 1 --budget 6.5 --overhead 5 --out x.sample --sheet x.csv", 1,
     LEVELS_TOO_SMALL.replace(r"1\.5 ", r"6\.5 ").replace("2 at", "7 at").replace("budget 2", "budget 7")),
    ("a design below its dearest unit", TINY,
     "--quiet design --run x.run --max-grade 1 --budget 1.5 --out x.csv --method whole", 1, LEVELS_TOO_SMALL),
    ("items beside passive below the dearest query", TINY,
     "--quiet " + TINY_POOL.replace("--budget 3", "--budget 1.5") + " --method items", 1,
     TOO_SMALL.format(r"1\.5", 2, 2)),
    ("below one draw", TINY, "--quiet " + TINY_POOL.replace("--budget 3", "--budget 0.75") + " --expected --method passive", 1,
     r"DCG, passive: --budget 0\.75 does not pay for one draw \(1\.5 on average\): --budget 1\.5"),
]  # fmt: skip

OPTIONS = [
    ("no pool", {}, "simulate --budget 17%", 2, r"give either --letor with --scores, or --run \(with --qrels to simulate\)"),
    ("two pools", {}, LETOR + " --run a.run", 2, r"give either --letor with --scores, or --run \(with --qrels to simulate\)"),
    ("no scores", {}, "simulate --letor a.txt", 2,
     r"--letor needs --scores: one score file for each of --letor, aligned with its lines"),
    ("no labels", {}, "simulate --run a.run", 2, r"--run needs --qrels here: the labels of the pool"),
    ("a second run twice over", {}, RUNS + " --run b.run --versus-run b.run", 2,
     r"--versus-run is the second of two systems: with 2 of --run give it as --run too"),
    ("a second ranker twice over", {}, LETOR + " --scores a.second --scores a.second", 2,
     r"--scores: a\.second is given twice, expected each system once"),
    ("a run of three twice", {}, RUNS + " --run b.run --run ./a.run", 2, r"--run: \./a\.run is given twice, expected each system once"),
    ("scores of three rankers for two files", {}, LETOR.replace("--letor a.txt", "--letor a.txt --letor b.txt")
     + " --scores b.score --scores a.second", 2,
     r"--scores: 3 score files for 2 LETOR files, expected one each of every ranker, ranker by ranker, or one for all"),
    ("an update of two indexes", {}, RUNS + " --run b.run --index-update 0.1", 2, r"--index-update takes one system, got 2"),
    ("contrasts of one run", {}, RUNS + " --contrasts all", 2, r"--contrasts needs several systems, got one: give --run again"),
    ("contrasts of one ranker", {}, LETOR + " --contrasts first", 2, r"--contrasts needs several systems, got one: give --scores again"),
    ("no contrasts", {}, RUNS + " --run b.run --contrasts none", 2, r"Invalid value for '--contrasts': 'none' is not one of 'all', 'first'\."),
    ("a design of three", {}, DESIGN + " --run b.run --run c.run --out x.csv", 2,
     r"this takes one question, of one system or two, got 3"),
    *((f"--{option} with --letor", {}, f"{LETOR} --{option} q.qrels", 2, rf"--{option} goes with --run, not with --letor")
      for option in ("qrels", "pool-run", "versus-run")),
    *((f"--{option} with --run", {}, f"{RUNS} --{option} a.txt", 2, rf"--{option} goes with --letor, not with --run")
      for option in ("scores",)),
    ("two comparisons", {}, LETOR + " --scores a.second --index-update 0.1", 2,
     r"--index-update takes one system, got 2"),
    ("two ways to train", {}, LETOR + " --train t.txt --train 50%", 2, r"--train takes files, or one share of the queries, got t\.txt, 50%"),
    ("nothing to tune on", {}, LETOR + " --model forest:tune", 2, r"--model …:tune needs labels to tune on: --train or --judged"),
    ("no labels to train on", {}, SAMPLE + " --train 50% --budget 17% --out x.sample --sheet x.csv", 2,
     r"a share for --train needs the labels of the pool, --qrels: else give judgments of other queries"),
    ("given probabilities trained", {}, LETOR + " --model probs=a.probs.csv --train t.txt", 2,
     r"--train: --model probs=a\.probs\.csv is recalibrated with a share of the queries, as 40%, not with files to train on"),
    ("no labels to calibrate on", {}, "calibration --run a.run", 2, r"--run needs --qrels here: the labels of the pool"),
    ("no pool to calibrate on", {}, "calibration", 2, r"give either --letor with --scores, or --run \(with --qrels to simulate\)"),
    ("a scope of neither", {}, "estimate x.csv --scope all", 2,
     r"Invalid value for '--scope': 'all' is not one of 'pool', 'population'\."),
    ("an unknown question", {}, "estimate x.csv --question both", 2,
     r"Invalid value for '--question': 'both' is not one of 'difference', 'run', 'versus'\."),
    ("an unknown interval", {}, "estimate x.csv --interval asympcs", 2,
     r"Invalid value for '--interval': 'asympcs' is not one of 't', 'group-sequential'\."),
    ("an expected budget of levels", {}, SAMPLE + " --budget 17% --out x.sample --sheet x.csv --expected --method items", 2,
     r"--expected is for draws with replacement: passive, active, active_uniC, active_uniD"),
    ("an argument to warm-up", {}, "warm-up items", 2, r"Got unexpected extra argument \(items\)"),
    ("no scale", {}, "design --run a.run --out x.csv", 2,
     r"--max-grade is needed: no label of the pool is read, and no other input has the largest grade"),
    *((f"index update {value}", {}, f"{LETOR} --index-update {value}", 2, rf"Invalid value for '--index-update': {expected}")
      for value, expected in (("1.5", rf"1\.5 {OPEN}"), ("0", rf"0\.0 {OPEN}"), ("nan", r"nan is not a finite number\."))),
    *((f"defensive share {value}", {}, f"{LETOR} --defensive-share {value}", 2,
       rf"Invalid value for '--defensive-share': {expected}")
      for value, expected in (("2", r"2\.0 is not in the range 0<=x<=1\."), ("nan", r"nan is not a finite number\."))),
    ("one repetition", {}, LETOR + " --repetitions 1", 2, r"Invalid value for '--repetitions': 1 is not in the range x>=2\."),
    ("max grade 0", {}, LETOR + " --max-grade 0", 2, r"Invalid value for '--max-grade': 0 is not in the range 1<=x<=1000\."),
    ("a negative seed", {}, LETOR + " --seed -1", 2,
     r"Invalid value for '--seed': -1 is not in the range 0<=x<=9223372036854775807\."),
    ("unknown format", {}, SCORE + " P@2 -o xml", 2,
     r"Invalid value for '-o' / '--output': 'xml' is not one of 'text', 'jsonl', 'tsv', 'md', 'latex', 'wide'\."),
    ("level 1", {}, SCORE + " P@2 --confidence 1", 2, rf"Invalid value for '--confidence': 1\.0 {OPEN}"),
    ("level NaN", {}, "estimate x.sample x.csv --confidence nan", 2, r"Invalid value for '--confidence': nan is not a finite number\."),
    ("nothing to print", {}, SCORE + " P@2 -n", 2,
     r"-n leaves out the summary: give -q too, or nothing is left to print"),
    ("versus beside runs", {}, SCORE + " P@2 --versus b.run --run b.run", 2,
     r"--versus compares two runs in a row; with --run, --baseline names the one of all"),
    ("versus and a baseline", {}, SCORE + " P@2 --versus b.run --baseline a.run", 2, r"--versus compares two runs in a row; .*"),
    ("a run given twice", {}, SCORE + " P@2 --run b.run --run a.run", 2, r"a\.run is given twice, expected each run once"),
    ("a baseline of no run", {}, SCORE + " P@2 --run b.run --baseline c.run", 2,
     r"--baseline c\.run is none of the runs; did you mean [ab]\.run\? given: a\.run, b\.run"),
    ("a test of nothing", {}, SCORE + " P@2 --test t", 2,
     r"--test, --correction and --baseline are for differences: give --run or --versus too"),
    ("a baseline of itself", {}, SCORE + " P@2 --baseline a.run", 2, r"--test, --correction and --baseline are .*"),
    ("a correction of nothing", {}, SCORE + " P@2 --correction none", 2, r"--test, --correction and --baseline are for differences: .*"),
    ("a run of the table that is missing", {}, SCORE + " P@2 --run b.run --run gone", 1, r"gone: no such file"),
    ("no measure", {}, SCORE, 2, r"Missing argument 'MEASURE\.\.\.'\."),
    ("no budget", {}, SAMPLE + " --out x.sample --sheet x.csv", 2,
     r"give one of --budget, --half-width and --difference"),
    ("a segment without a half-width", {}, SAMPLE + " --half-width mobile --out x.sample --sheet x.csv", 2,
     r"Invalid value for '--half-width': expected a half-width, as 0\.1, or that of a segment, as mobile=0\.05, got 'mobile'"),
    ("no segments", {}, SAMPLE + " --half-width mobile=.1 --out x.sample --sheet x.csv", 2,
     r"--half-width of a segment needs --segments: a table of query_id and segment"),
    ("no out", {}, SAMPLE + " --budget 17%", 2, r"Missing option '--out'\."),
    ("no sheet", {}, SAMPLE + " --budget 17% --out x.sample", 2, r"Missing option '--sheet'\."),
    ("unknown ties", {}, RUNS + " --ties random", 2, r"Invalid value for '--ties': 'random' is not one of 'id', 'rank', 'input'\."),
    ("unknown command", {}, "sampel", 2, r"No such command 'sampel'\..*"),
    ("unknown option", {}, "score --fast q.qrels a.run P@2", 2, r"No such option:? '?--fast'?\.?.*"),
]  # fmt: skip

OUTPUTS = [
    *((f"{name} to {command.split()[0]}", {}, f"--quiet {command} {name}", 1, expected)
      for command in (SAMPLE + " --budget 17% --out x.sample --sheet", DESIGN + " --out")
      for name, expected in (
          ("no/x.csv", r"no/x\.csv: cannot write: there is no folder 'no'"),
          ("folder.csv", r"folder\.csv: cannot write: Is a directory"),
          ("x.txt", rf"x\.txt: expected a name that ends in {ENDINGS}(, \.xlsx)?"),
          ("x", rf"x: expected a name that ends in {ENDINGS}(, \.xlsx)?"),
          ("full.csv", r"full\.csv: cannot write: No space left on device"))),
    *((f"plot {name} of {command.split()[0]}", {}, f"--quiet {command} --plot {name}", 1, expected)
      for command in (LETOR, DESIGN + " --out x.csv")
      for name, expected in (
          ("no/x.png", r"no/x\.png: cannot write: there is no folder 'no'"),
          ("folder.png", r"folder\.png: cannot write: Is a directory"),
          ("x.jpg", rf"x\.jpg: expected a name that ends in {PICTURES}"),
          ("full.png", r"full\.png: cannot write: No space left on device"))),
    *((f"{name} is there for {line.split()[0]}", {"x.csv": "1", "x.sample": "1", "x.json": "{}"}, line, 1,
       rf"{name}: is there already, --force overwrites it")
      for name, line in (
          ("x.csv", SAMPLE + " --budget 9 --out y.sample --sheet x.csv"),
          (r"x\.sample", SAMPLE + " --budget 9 --out x.sample --sheet y.csv"),
          (r"x\.csv", "top-up gone.sample --budget 9 --out y.sample --sheet x.csv"),
          (r"x\.sample", "top-up x.sample --budget 9 --out x.sample --sheet y.csv"),
          (r"a\.probs\.csv", "design --letor a.txt --scores a.score --model probs=a.probs.csv --out a.probs.csv"),
          (r"x\.json", "gains learn gone.jsonl --out x.json"))),
    ("a file for the demo's folder", {"x": "1"}, "demo --queries 20 --repetitions 2 --out x/y", 1,
     r"--out x/y: cannot make this folder: Not a directory"),
]  # fmt: skip

ESTIMATES = [
    ("unknown suffix", {"x.sample": None}, "estimate x.sample a.txt", 1,
     r"a\.txt: none of its \d+ judgments is of an item of the sample"),
    ("a sheet without its sample", {"x.csv": SHEET + "f0,1,q1,a,1\n"}, "estimate x.sample x.csv", 1,
     r"x\.sample: no such file.*"),
    ("a sheet alone", {"x.csv": SHEET + "f0,1,q1,a,1\n"}, "estimate x.csv", 1,
     r"x\.csv: cannot be read as a file of arrays \(\.npz\): expected a drawn sample"),
    ("a sample without its sheet", {"x.sample": None}, "estimate x.sample", 1,
     r"x\.sample: \d+ items are to be judged: give the judged sheet beside it"),
    ("a sheet for its sample", {"x.csv": SHEET + "f0,1,q1,a,1\n"}, "estimate x.csv x.csv", 1,
     r"x\.csv: cannot be read as a file of arrays \(\.npz\): expected a drawn sample"),
    ("a table of draws", {"x.sample": None, "x.csv": "draw,query_id,doc_id,weight,grade\n1,q1,a,1,1\n"}, "estimate x.sample x.csv", 1,
     r"x\.csv: none of its 1 judgment is of an item of the sample"),
    ("half a grade", {"x.sample": None, "x.csv": SHEET + "f0,1,q1,a,1.5\n"}, "estimate x.sample x.csv", 1,
     r"x\.csv:2: column grade: holds '1\.5', expected 0, 1, 2, 3, empty or cannot"),
    ("a grade of -1", {"x.sample": None, "x.csv": SHEET + "f0,1,q1,a,-1\n"}, "estimate x.sample x.csv", 1,
     r"x\.csv:2: column grade: holds '-1', expected 0, 1, 2, 3, empty or cannot"),
    ("no rows", {"x.sample": None, "x.csv": SHEET}, "estimate x.sample x.csv", 1, r".*no rows"),
    ("a sample that is text", {"x.csv": SHEET + "f0,1,q1,a,1\n", "x.sample": "words"}, "estimate x.sample x.csv", 1,
     r"x\.sample: cannot be read as a file of arrays \(\.npz\): expected a drawn sample"),
    ("a top-up of nothing", {}, "top-up gone.sample --budget 5 --out n.sample --sheet n.csv", 1,
     r"gone\.sample: no such file.*"),
    ("one name for both", {}, SAMPLE + " --budget 5 --out x.csv --sheet x.csv", 1,
     r"x\.csv: the sample and its sheet are two files, got one name for both"),
    ("a question without a second ranking", {}, SAMPLE + " --budget 20% --question versus --out x.sample --sheet x.csv", 1,
     r"there is one ranking: no second one, and no question 'versus'"),
]  # fmt: skip

BROKEN_CALLS = [
    *AGREEMENTS,
    *PLANS,
    *FILES,
    *MODELS,
    *MEASURES,
    *COSTS,
    *BUDGETS,
    *OPTIONS,
    *OUTPUTS,
    *ESTIMATES,
    *BROKEN_PREFERENCES,
]
