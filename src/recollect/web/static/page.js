// Makes the page smoother. Everything works without it, except what is live.
"use strict";

// Forms are sent without leaving the page: what changed is put in its place, and the scroll stays where it was.
let sent = 0, shown = 0, waiting = 0;
async function go(address, options, keep, button) {
  const number = ++sent, from = document.activeElement;
  waiting += 1;
  document.body.setAttribute("aria-busy", "true");
  if (button) button.disabled = true; // which may take the focus from it
  const isWrite = options.method === "POST";
  let answer, isPage, text;
  try {
    answer = await fetch(address, { credentials: "same-origin", ...options });
    isPage = (answer.headers.get("content-type") || "").startsWith("text/html");
    if (!isPage && !isWrite) { location.assign(address); return; }
    text = await answer.text();
  } catch {
    say("Recollect does not answer: is `recollect ui` still running?");
    return;
  } finally {
    waiting -= 1;
    if (!waiting) document.body.removeAttribute("aria-busy");
    if (button) button.disabled = false;
  }
  if (number < shown) return; // a later answer is there already
  const next = new DOMParser().parseFromString(isPage ? text : "", "text/html");
  if (next.querySelector("main") && !next.body.hasAttribute("data-notice")) {
    shown = number;
    show(next, isWrite && !answer.redirected ? location.href : answer.url, keep, from);
  } else { // a refusal: what was typed stays
    const parts = [...next.querySelectorAll("h1, [data-why]")];
    const said = isPage ? parts.map((part) => part.textContent.trim()).join(": ") : text.trim();
    say(said.slice(0, 500) || `That did not work (${answer.status}).`);
    if (document.activeElement === document.body) from?.focus({ preventScroll: true });
  }
}

function show(next, address, keep, from) {
  const active = document.activeElement === document.body ? from : document.activeElement;
  const focused = active?.id;
  const card = cards().indexOf(active?.closest("[data-card]"));
  for (const part of ["header", "main", "#bar"]) {
    document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
  }
  document.title = next.title;
  document.documentElement.dataset.theme = next.documentElement.dataset.theme;
  document.body.dataset.base = next.body.dataset.base;
  history[keep ? "replaceState" : "pushState"]({}, "", address);
  if (!keep) scrollTo(0, 0);
  const target = (focused && document.getElementById(focused)) || document.querySelector("main [autofocus]")
    || (card >= 0 && cards()[Math.min(card, cards().length - 1)]);
  (target || document.querySelector("main")).focus({ preventScroll: true });
  begin();
}

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  document.getElementById("bar").replaceChildren(line);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-plain]") || event.defaultPrevented) return;
  const data = new URLSearchParams(new FormData(form, event.submitter));
  event.preventDefault();
  if (form.method === "get") {
    const address = new URL(form.action);
    address.search = new URLSearchParams([...data].filter(([, value]) => value)).toString();
    go(address, {}, form.matches("[data-keep]"), event.submitter);
  } else {
    const own = event.submitter?.hasAttribute("formaction"); // without it, formAction is the address of the page
    go(own ? event.submitter.formAction : form.action, { method: "POST", body: data }, true, event.submitter);
  }
});
document.addEventListener("change", (event) => {
  const form = event.target.closest(".switch, [data-auto]");
  if (form && event.target.matches("select, [type=checkbox], [type=range]")) form.requestSubmit();
  if (event.target.matches("[data-all]")) {
    for (const box of document.getElementsByName(event.target.dataset.all)) box.checked = event.target.checked;
  }
});
addEventListener("popstate", () => location.reload());

// Keys: / goes to the search box; on cards y, n, e press the button that names the key, j and k move.
document.addEventListener("keydown", (event) => {
  if (event.repeat || waiting) return; // a key that is held down decides nothing twice
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "/" && document.querySelector("[type=search]")) {
    event.preventDefault();
    document.querySelector("[type=search]").focus();
    return;
  }
  const all = cards();
  const at = all.indexOf(document.activeElement?.closest("[data-card]"));
  if (event.key === "j" || event.key === "k") {
    all[Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), all.length - 1)]?.focus();
  } else if (/^[a-z]$/.test(event.key)) {
    const button = (all[at] || all[0])?.querySelector(`[data-key="${event.key}"]`);
    if (button) { event.preventDefault(); button.click(); }
  }
});
const cards = () => [...document.querySelectorAll("[data-card]")];
// An editor takes the keyboard when it opens, and Escape gives it back.
document.addEventListener("toggle", ({ target }) => {
  if (target.open && target.matches("[data-edit]")) target.querySelector("textarea, input:not([type=hidden])")?.focus();
}, true);
document.addEventListener("keydown", (event) => {
  const editor = event.key === "Escape" && event.target.closest("details[data-edit]");
  if (editor) { editor.open = false; (editor.closest("[data-card]") || editor.querySelector("summary")).focus(); }
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (!opener) return;
  const part = document.getElementById(opener.dataset.opens);
  if (part instanceof HTMLDetailsElement) part.open = true; else part.hidden = !part.hidden;
  part.querySelector("input:not([type=hidden]), textarea")?.focus();
});

// Streams: each element with data-stream listens, and hands every message to the function of its kind.
const streams = [];
const kinds = {};
function begin() {
  while (streams.length) streams.pop().close();
  for (const place of document.hidden ? [] : document.querySelectorAll("[data-stream]")) {
    const source = new EventSource(place.dataset.stream);
    source.onmessage = (event) => kinds[place.dataset.kind]?.(place, JSON.parse(event.data), source);
    streams.push(source);
  }
  document.querySelectorAll("[data-script]").forEach((part) => { part.hidden = false; });
  for (const select of document.querySelectorAll(".switch")) select.querySelector("button").hidden = true;
}

// The feed: the newest first, as many as fit. A stream that begins again repeats what is there already.
kinds.feed = (place, item) => {
  if (place.querySelector(`[data-id="${CSS.escape(item.id)}"]`)) return;
  place.insertAdjacentHTML("afterbegin", item.html); // made by a template, as the page was
  while (place.children.length > 30) place.lastElementChild.remove();
  document.getElementById("feed-empty").hidden = true;
};

// Long work: how far it is; once it is over, what came of it.
kinds.work = (place, item, source) => {
  if (item.ended) { source.close(); go(location.href, {}, true); return; }
  const bar = place.querySelector("progress");
  if (item.total) { bar.max = item.total; bar.value = item.done; }
  place.querySelector("[data-said]").textContent = item.said || "Starting…";
};

// A page that nobody looks at needs no stream: a browser has only a few for all its windows.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) while (streams.length) streams.pop().close(); else begin();
});

// The floor: what would be told at the one that the slider shows. Nothing changes until it is saved.
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-floor]")) return;
  const floor = Number(event.target.value), said = floor.toFixed(2);
  document.getElementById("floor-out").textContent = said;
  document.querySelector("[data-floor-value]").value = said;
  const save = document.querySelector("[data-floor-save]");
  save.disabled = said === save.dataset.saved;
  for (const part of document.querySelectorAll("[data-up-to]")) {
    part.hidden = floor <= Number(part.dataset.above) || floor > Number(part.dataset.upTo);
  }
  for (const card of document.querySelectorAll("[data-max-floor]")) {
    const told = floor <= Number(card.dataset.maxFloor);
    card.querySelector("[data-told]").hidden = !told;
    card.querySelector("[data-untold]").hidden = told;
  }
});

document.addEventListener("DOMContentLoaded", begin);
