// Keys and clocks of the judging page, and resending of an answer until the server accepts it.
// The page works without this file, except for these.
(() => {
  "use strict";
  const IDLE_MS = 60000;
  const root = document.documentElement;
  root.classList.add("js");

  // --- clocks: active, idle and hidden time, summed from a monotonic clock
  const clocks = { active: 0, idle: 0, hidden: 0 };
  let since = performance.now();
  let lastInput = since;
  let isPaused = false;

  function tick() {
    const now = performance.now();
    const gone = now - since;
    const start = since;
    since = now;
    if (isPaused) return;
    if (document.hidden) {
      clocks.hidden += gone;
      return;
    }
    // time within a minute of the last input is active, the rest is idle
    const active = Math.max(0, Math.min(gone, lastInput + IDLE_MS - start));
    clocks.active += active;
    clocks.idle += gone - active;
  }
  function restart() {
    clocks.active = clocks.idle = clocks.hidden = 0;
    since = lastInput = performance.now();
    setPaused(false);
  }
  function touched() {
    tick();
    lastInput = since;
  }
  function setPaused(paused) {
    tick();
    isPaused = paused;
    const button = document.querySelector("[data-does=pause]");
    if (button) button.setAttribute("aria-pressed", String(paused));
  }
  for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
    addEventListener(kind, touched, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", () => {
    // the time so far belongs to the previous state
    const wasHidden = !document.hidden;
    const now = performance.now();
    if (!isPaused && wasHidden) clocks.hidden += now - since;
    else if (!isPaused) {
      const active = Math.max(0, Math.min(now - since, lastInput + IDLE_MS - since));
      clocks.active += active;
      clocks.idle += now - since - active;
    }
    since = now;
    if (wasHidden) lastInput = now;
  });

  let lastUsed = "";
  function fill(values) {
    tick();
    values.active_ms = Math.round(clocks.active);
    values.idle_ms = Math.round(clocks.idle);
    values.hidden_ms = Math.round(clocks.hidden);
    values.input = lastUsed;
  }
  document.addEventListener("submit", (event) => {
    if (event.target.hasAttribute("hx-post") && window.htmx) return;
    const values = {};
    fill(values);
    for (const [name, value] of Object.entries(values)) {
      const field = event.target.elements[name];
      if (field) field.value = value;
    }
  }, true);
  document.addEventListener("htmx:configRequest", (event) => fill(event.detail.parameters));

  // --- keys, named by badges; ignored in text fields
  const useKeys = document.getElementById("use-keys");
  const KEPT = "activeeval.keys";
  function showKeys() {
    root.classList.toggle("no-keys", !useKeys.checked);
  }
  if (useKeys) {
    try { useKeys.checked = localStorage.getItem(KEPT) !== "off"; } catch { /* nothing is kept */ }
    showKeys();
    useKeys.addEventListener("change", () => {
      try { localStorage.setItem(KEPT, useKeys.checked ? "on" : "off"); } catch { /* nothing is kept */ }
      showKeys();
    });
  }
  let digits = "";
  function press(key) {
    const button = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
    if (!button) return false;
    lastUsed = "key";
    button.click();
    if (button.tagName === "SUMMARY" && button.parentElement.open) {
      const field = button.parentElement.querySelector("input:not([type=hidden]), textarea");
      (field || button).focus();
    }
    return true;
  }
  function isText(element) {
    return element.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
  }
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
    if (event.key === "Escape" && isText(event.target)) event.target.blur();
    if ((useKeys && !useKeys.checked) || isText(event.target)) return;
    const many = document.querySelectorAll("button[name=grade]").length > 10;
    if (many && /^[0-9]$/.test(event.key)) {
      digits = (digits + event.key).slice(-2);
      return say(`Grade ${digits}: press Enter`);
    }
    if (many && event.key === "Enter" && digits) {
      const button = document.querySelector(`button[name=grade][value="${Number(digits)}"]`);
      digits = "";
      lastUsed = "key";
      if (button) { event.preventDefault(); button.click(); }
      return undefined;
    }
    const shift = event.shiftKey && event.key.startsWith("Arrow") ? "Shift+" : "";
    if (press(shift + event.key)) event.preventDefault();
    return undefined;
  });
  addEventListener("pointerdown", () => { lastUsed = "mouse"; }, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-does=pause]");
    if (button) setPaused(!isPaused);
  });

  // --- the next item: focus its heading, start its clocks
  function say(text) {
    const line = document.getElementById("said");
    if (line) line.textContent = text;
  }
  document.addEventListener("htmx:afterSwap", () => {
    restart();
    digits = "";
    const said = document.getElementById("said");
    const text = said ? said.textContent : "";
    const heading = document.getElementById("query");
    if (heading) heading.focus({ preventScroll: true });
    scrollTo(0, 0);
    if (said) { said.textContent = ""; setTimeout(() => { said.textContent = text; }, 50); }
    renewLater();
  });

  // --- no connection: keep one answer, and resend it until the server accepts it
  let waiting = null;
  let tries = 0;
  function trouble(text) {
    const line = document.getElementById("trouble");
    if (!line) return;
    line.hidden = !text;
    line.textContent = text;
  }
  function hold(isHeld) {
    document.querySelectorAll("#work button").forEach((each) => { each.disabled = isHeld || each.hidden; });
  }
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (waiting && !event.detail.requestConfig.parameters["sent-again"]) {
      event.preventDefault();
    }
  });
  function again(detail) {
    waiting = waiting || { path: detail.requestConfig.path, values: Object.fromEntries(
      Object.entries(detail.requestConfig.parameters).filter(([name]) => name !== "sent-again")) };
    hold(true);
    trouble("No connection to the server. Your answer is kept here and sent again automatically; please leave this page open.");
    const wait = Math.min(15000, 1000 * 2 ** tries) * (0.75 + Math.random() / 2);
    tries += 1;
    setTimeout(() => {
      window.htmx.ajax("POST", waiting.path, {
        target: "#work", swap: "outerHTML", values: { ...waiting.values, "sent-again": "1" } });
    }, wait);
  }
  document.addEventListener("htmx:sendError", (event) => again(event.detail));
  document.addEventListener("htmx:responseError", (event) => {
    const { status, responseText } = event.detail.xhr;
    if (status === 503 || status === 502 || status === 504) {
      again(event.detail);
      return;
    }
    waiting = null;
    hold(false);
    trouble(`${responseText.slice(0, 300)} (Reload the page to continue.)`);
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status < 400) {
      waiting = null;
      tries = 0;
    }
  });
  addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });

  // --- renew the lease of the item while its judge is active
  let renewal = 0;
  function renewLater() {
    clearTimeout(renewal);
    const work = document.getElementById("work");
    const lease = work ? Number(work.dataset.leaseS) : 0;
    if (!lease) return;
    renewal = setTimeout(() => {
      tick();
      const token = document.querySelector("#answer [name=token]");
      const isAtIt = !document.hidden && !isPaused && performance.now() - lastInput < Math.max(IDLE_MS, lease * 400);
      if (isAtIt && token) {
        fetch("/judge/renew", { method: "POST", body: new URLSearchParams({ token: token.value }) }).catch(() => {});
      }
      renewLater();
    }, lease * 400);
  }
  renewLater();
  if (document.querySelector(".correcting, [data-lease-s]")) {
    const heading = document.getElementById("query");
    if (heading) heading.focus({ preventScroll: true });
  }
})();
