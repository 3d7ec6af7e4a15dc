// The calculator of page one: what a budget reaches, by plans of the package that calculator-data.js holds.
// docs/_ext/calculator.py says what the numbers are and how they were made; tests hold this file against it.
(() => {
  "use strict";
  const data = window.ACTIVEEVAL_CALCULATOR;

  /** Value at x of a curve through logarithms, smooth between its points. */
  function smooth(xs, ys, x) {
    const at = Math.log(Math.min(Math.max(x, xs[0]), xs[xs.length - 1]));
    let k = 1;
    while (k < xs.length - 2 && Math.log(xs[k + 1]) < at) k += 1;
    k = Math.log(xs[1]) > at ? 0 : k;
    const point = (i) => [Math.log(xs[i]), Math.log(ys[i])];
    const [[x0, y0], [x1, y1]] = [point(k), point(k + 1)];
    const slope = (i) => {
      const [low, high] = [point(Math.max(i - 1, 0)), point(Math.min(i + 1, xs.length - 1))];
      return (high[1] - low[1]) / (high[0] - low[0]);
    };
    const width = x1 - x0;
    const t = (at - x0) / width;
    const [m0, m1] = [slope(k) * width, slope(k + 1) * width];
    const cubic =
      (2 * t ** 3 - 3 * t ** 2 + 1) * y0 + (t ** 3 - 2 * t ** 2 + t) * m0 + (3 * t ** 2 - 2 * t ** 3) * y1 + (t ** 3 - t ** 2) * m1;
    return Math.exp(cubic);
  }

  /** Mix what holds at the two overheads beside x. */
  function mixed(x, of) {
    const grid = data.overheads;
    let k = 0;
    while (k < grid.length - 2 && grid[k + 1] < x) k += 1;
    const share = (x - grid[k]) / (grid[k + 1] - grid[k]);
    return (1 - share) * of(k) + share * of(k + 1);
  }

  const mixedLogs = (x, of) => Math.exp(mixed(x, (k) => Math.log(of(k))));
  const halfWidth = (variance, n) => smooth(data.freedoms, data.g, n) * Math.sqrt(variance);

  /** What a budget reaches by the measure's default method; half of null where the sample cannot tell. */
  function sampled(asked) {
    const table = data.tables[`${asked.measure} ${asked.question}`][asked.quality];
    const all = asked.queries * mixed(asked.overhead, (k) => table.cost[k]);
    const share = asked.budget / all;
    if (share >= 1) return { all, half: 0 };
    const of = (name) => mixedLogs(asked.overhead, (k) => smooth(data.shares, table[name][k], share));
    const n = asked.queries * of("o");
    const isKnown = share >= data.shares[0] && share <= data.most && n >= data.fewest;
    return { all, n, half: isKnown ? halfWidth(((of("v") / asked.queries) * n) / (n - 2), n) : null };
  }

  /** The same by random queries judged whole, drawn with replacement. */
  function random(asked) {
    const { S, whole } = data.tables[`${asked.measure} ${asked.question}`];
    const all = asked.queries * mixed(asked.overhead, (k) => whole[k]);
    const share = asked.budget / all;
    if (share >= 1) return { all, half: 0 };
    const draws = Math.log1p(-share) / Math.log1p(-1 / asked.queries);
    return { all, n: draws, half: draws >= data.fewest ? halfWidth(S / (draws - 1), draws) : null };
  }

  /** The budget at which random queries reach a half-width; null where only judging everything does. */
  function needed(asked, half) {
    let [low, high] = [1, random(asked).all * 0.999];
    const reaches = (budget) => (random({ ...asked, budget }).half ?? Infinity) <= half;
    if (!reaches(high)) return null;
    for (let step = 0; step < 60; step += 1) {
      const middle = Math.sqrt(low * high);
      [low, high] = reaches(middle) ? [low, middle] : [middle, high];
    }
    return high;
  }

  window.activeevalCalculator = { sampled, random, needed };

  const rounded = (x) => Math.round(x).toLocaleString("en");
  const short = (x) => x.toLocaleString("en", { maximumSignificantDigits: 2 });

  /** The answer as sentences. */
  function answer(asked) {
    if (!(asked.queries >= 30 && asked.queries <= 1e6)) return ["Queries: from 30 to 1,000,000."];
    if (!(asked.budget > 0)) return ["Budget: a number of judgments above 0."];
    if (!(asked.overhead >= 0 && asked.overhead <= 10)) return ["Overhead: from 0 to 10."];
    const own = sampled(asked);
    if (own.half === 0) return [`That pays for everything: ${rounded(own.all)} judgments.`, "No sample is needed."];
    if (own.half === null) {
      const isMost = asked.budget > data.most * own.all;
      if (isMost) return [`That is nearly everything: judge all ${rounded(own.all)}.`];
      return ["Too few queries would be judged: from such a sample nothing can be told.", "Raise the budget."];
    }
    const lines = [`± ${short(own.half)} with activeeval.`];
    const others = random(asked);
    lines.push(others.half === null ? "Random queries judged whole tell nothing yet." : `± ${short(others.half)} with random queries judged whole.`);
    const same = needed(asked, own.half);
    if (same === null) lines.push(`They reach ± ${short(own.half)} only when all is judged.`);
    else if (same > asked.budget) {
      lines.push(`They need ${rounded(same)} judgments for the same: ${Math.round(100 * (1 - asked.budget / same))} % are saved.`);
    } else lines.push("Nothing is saved here.");
    return lines;
  }

  const form = document.getElementById("calculator");
  if (!form) return;
  const field = (name) => form.elements.namedItem(name);
  const number = (name) => (field(name).value.trim() === "" ? NaN : Number(field(name).value));

  function show() {
    const asked = {
      queries: number("queries"), budget: number("budget"), overhead: number("overhead"),
      measure: field("measure").value, question: field("question").value, quality: field("quality").value,
    };
    const [first, ...rest] = answer(asked);
    const lead = document.createElement("strong");
    lead.textContent = first;
    form.querySelector("output").replaceChildren(lead, ...rest.map((text) => Object.assign(document.createElement("span"), { textContent: ` ${text}` })));
  }

  for (const slider of form.querySelectorAll("input[type=range]")) {
    const target = field(slider.dataset.of);
    const isLog = slider.dataset.scale === "log";
    slider.addEventListener("input", () => {
      target.value = isLog ? Number((10 ** Number(slider.value)).toPrecision(2)) : slider.value;
      show();
    });
    target.addEventListener("input", () => {
      if (Number(target.value) > 0 || !isLog) slider.value = isLog ? Math.log10(Number(target.value)) : target.value;
    });
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
