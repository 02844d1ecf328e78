"use strict";
// The page shows what the desk sends and sends back which control was moved. It decides nothing and works nothing out.
// A request is answered by lines of JSON: parts of the page, progress, errors, and what does the same without a page.
const at = (id) => document.getElementById(id);
const [, , work, place] = location.pathname.split("/");
const said = { command: "", python: "", policy: "", saved: "", file: "divulge.toml" };
let kind = "command";
let number = 0; // of the newest request: parts for older ones come too late
let held = null; // what the desk last said that this page is: it goes on with it if the studio is started again
let drawings = []; // of the parts that were put last: a promise for each picture
const tab = (sessionStorage.tab ??= crypto.randomUUID()); // a page is one tab's: a link that is opened in another one goes on by itself

// --- asking ------------------------------------------------------------------------------------------------------
async function ask(changes = []) {
  const own = ++number;
  const slow = setTimeout(() => {
    if (own !== number) return;
    document.body.classList.add("waiting"); // from now on it is seen what is being done, and can be cancelled
    if (at("doing").hidden) take({ progress: "working" });
    if (!isLost && changes.length) at("trouble").hidden = true; // it is about what was asked before
  }, 250);
  try {
    const answer = await fetch(`/w/${work}/ask`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ place, changes, tab }),
    });
    if (answer.status === 409) {
      number += 1; // this page is over
      return void location.replace(`/w/${(await answer.json()).page}/${place}`);
    }
    if (answer.status === 403) return void retry(own, REFUSED);
    if (answer.status === 404 && await back()) return void (own === number && ask());
    if (!answer.ok) return trouble(await answer.json());
    found();
    if (cancelled === own) cancel(); // before it had begun
    let failed = false;
    let undone = false;
    const put = new Set();
    for await (const message of lines(answer.body)) {
      if (own !== number) continue;
      failed = failed || "error" in message;
      undone = undone || message.undone;
      take(message);
      if ("put" in message) { put.add(message.put); release(); }
      if (message.outdated) forget(put);
    }
    if (own !== number) return;
    if (undone && changes.length) { // what was decided with it is not decided: the page shows what is
      const why = at("trouble").textContent;
      return void ask().then(() => { if (number === own + 1) Object.assign(at("trouble"), { textContent: why, hidden: false }); });
    }
    if (!failed) at("trouble").hidden = true;
    doubt(failed ? changes : []);
  } catch {
    if (own === number) retry(own, SILENT);
  } finally {
    clearTimeout(slow);
    if (own === number) {
      settle();
      release();
      await Promise.allSettled(drawings);
      if (own === number && !waiting.length) document.body.dataset.shown = own;
    }
  }
}

function settle() {
  document.body.classList.remove("waiting");
  at("doing").hidden = true;
}

function retry(own, why) {
  lost(why);
  setTimeout(() => { if (own === number) ask(); }, 1000); // what was asked is not done twice; the page comes back as it is
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

function take(message) {
  if ("put" in message) put(at(message.put), message.html);
  if ("error" in message) trouble(message);
  if ("same" in message) { Object.assign(said, message.same); showSame(); }
  if ("work" in message) held = message.work;
  if ("head" in message) at("head").textContent = message.head;
  if ("progress" in message) {
    at("doing").hidden = false;
    at("what").textContent = message.progress + " …";
    if ("of" in message) { at("far").max = message.of; at("far").value = message.done; } else at("far").removeAttribute("value");
  }
}

function put(target, html) {
  if (!target) return;
  const held = document.activeElement;
  const path = target.contains(held) && held !== target ? address(held) : null;
  const before = [...target.querySelectorAll("figure.live")];
  target.innerHTML = html; // made by the desk, which escapes every text; and the page's policy runs no script that stands in it
  drawings = drawings.filter((each) => each.open);
  for (const [nth, figure] of target.querySelectorAll("figure.live").entries()) {
    const drawn = draw(figure, before[nth]).finally(() => { drawn.open = false; });
    drawn.open = true;
    drawings.push(drawn);
  }
  if (path) stay(held, find(target, path));
}

// Whoever works by keyboard stays where she was when a part of the page is replaced, and what she has typed meanwhile stays too.
function stay(held, now) {
  if (!now) return;
  const typed = held.type === "text" && held.value !== (held.sent ?? held.defaultValue);
  if (typed) now.replaceWith(held);
  (typed ? held : now).focus();
}
const address = (element) => [element.tagName, element.getAttribute("name"), element.dataset.of, element.type, element.value];
const find = (target, [tag, name, of, type, value]) => {
  const same = [...target.querySelectorAll(tag)].filter((each) => each.getAttribute("name") === name && each.dataset.of === of && each.type === type);
  return same.find((each) => each.value === value) || same[0];
};

function trouble({ error, hint }) {
  const ended = (text) => text + (/[.?!…]$/.test(text) ? "" : ".");
  const box = at("trouble");
  box.textContent = ended(error) + (hint ? " " + ended(hint[0].toUpperCase() + hint.slice(1)) : "");
  box.hidden = false;
}

// What was found for other promises is not left standing beside an error.
function forget(put) {
  for (const part of at("view").querySelectorAll("[id]")) if (!put.has(part.id) && ![...put].some((id) => at(id)?.contains(part))) part.replaceChildren();
}

// The controls whose values were refused say so, until something is answered.
function doubt(changes) {
  for (const each of document.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const [name, of] of changes) {
    for (const each of document.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
      if (each.tagName !== "BUTTON" && (each.dataset.of || "") === of) each.setAttribute("aria-invalid", "true");
    }
  }
}

// --- pictures ----------------------------------------------------------------------------------------------------
let vega;
async function draw(figure, before) {
  vega ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.type = "module"; // as a plain script its names would be those of the page
    script.src = "/static/vega.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  const [frame, sets] = framed(figure);
  if (before?.view && before.frame === frame) return redraw(figure, before, sets);
  before?.view?.finalize();
  await vega;
  if (!figure.isConnected) return;
  const drawn = await drawFigure(figure);
  if (!drawn) return;
  Object.assign(figure, { frame, view: drawn.view, names: sets.map(([name]) => name) });
  drawn.view.addEventListener("click", (_, item) => {
    const about = drawn.view.container().closest("[data-click]")?.dataset;
    const datum = item?.datum ?? {};
    if (about && about.field in datum && (!about.kind || datum.kind === about.kind)) change(about.click, about.of, datum[about.field]);
  });
}

// A picture without its data, and the data: sets are named by what is in them, which changes as a slider moves.
function framed(figure) {
  const { datasets = {}, ...rest } = JSON.parse(figure.querySelector("script").textContent);
  const sets = Object.entries(datasets);
  return [sets.reduce((text, [name], place) => text.replaceAll(name, `set ${place}`), JSON.stringify(rest)), sets];
}

// The same picture of other numbers: Vega moves what moved, where to draw it anew takes several times as long.
async function redraw(figure, before, sets) {
  figure.querySelector("img")?.remove();
  figure.prepend(...before.querySelectorAll(":scope > figcaption"));
  figure.append(before.querySelector(".drawn"));
  const { frame, view, names } = before;
  Object.assign(figure, { frame, view, names });
  sets.forEach(([, rows], nth) => view.data(names[nth], rows));
  await view.runAsync();
}

// --- controls ----------------------------------------------------------------------------------------------------
// As somebody drags, the newest value goes out as soon as the first part of the last answer, the verdict, is there.
let waiting = [];
let isHeld = false;
function change(name, of, value) {
  waiting = waiting.filter((each) => each[0] !== name || each[1] !== (of || ""));
  waiting.push([name, of || "", value]);
  if (!isHeld) send();
}
function send() {
  const changes = waiting;
  waiting = [];
  isHeld = true;
  ask(changes);
}
function release() {
  isHeld = false;
  if (waiting.length) setTimeout(() => { if (!isHeld && waiting.length) send(); }, 0); // after what has come is shown
}

function twins(control) {
  return [...document.querySelectorAll(`[name="${CSS.escape(control.name)}"]`)].filter((each) => each !== control && each.dataset.of === control.dataset.of);
}

document.addEventListener("input", ({ target }) => {
  if (target.type !== "range") return;
  for (const twin of twins(target)) twin.value = target.value;
  switchOn(target);
  change(target.name, target.dataset.of, target.value);
});

document.addEventListener("change", ({ target }) => {
  if (target.type === "range" || !target.name || target.name === "path") return;
  if (target.type === "file") return void upload(target.files[0]);
  for (const twin of twins(target)) twin.value = target.value;
  if (target.type === "checkbox") target.closest(".promise")?.classList.toggle("off", !target.checked);
  else switchOn(target);
  target.sent = target.value;
  const send = () => change(target.name, target.dataset.of, target.type === "checkbox" ? target.checked : target.value);
  clearTimeout(typing);
  if (target.tagName === "SELECT" && performance.now() - letter < 100) typing = setTimeout(send, 500); // the word may go on
  else send();
});
let letter = -Infinity; // when one was typed last
let typing;
document.addEventListener("keydown", ({ key }) => { if (key.length === 1) letter = performance.now(); }, true);

function switchOn(control) {
  const promise = control.closest(".promise");
  if (!promise) return;
  promise.classList.remove("off");
  promise.querySelector("[type=checkbox]").checked = true;
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (!button || !button.name) return;
  const field = button.dataset.of === "path" ? at("path") : null;
  change(button.name, field ? "" : button.dataset.of, field ? field.value : button.value);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.id === "path") change("open", "", event.target.value);
});

// --- files -------------------------------------------------------------------------------------------------------
const LARGEST = 200 * 1024 * 1024;
async function upload(file) {
  if (!file) return;
  if (file.size > LARGEST) return trouble({ error: `${file.name} is larger than 200 MB`, hint: "open it by its path instead" });
  document.body.classList.add("waiting");
  take({ progress: `taking ${file.name}` });
  try {
    const answer = await fetch(`/w/${work}/file?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const told = await answer.json();
    settle();
    if (!answer.ok) return trouble(told);
    change("file", told.name, told.path);
  } catch {
    settle();
    trouble({ error: `${file.name} could not be taken`, hint: "try again, or open it by its path" });
  }
}
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  upload(event.dataTransfer.files[0]);
});

// --- the same without a page -------------------------------------------------------------------------------------
function showSame() {
  at("same").textContent = said[kind];
  for (const button of document.querySelectorAll("[data-same]")) button.setAttribute("aria-pressed", button.dataset.same === kind);
  URL.revokeObjectURL(at("save").href);
  at("save").href = URL.createObjectURL(new Blob([said.saved], { type: "application/toml" }));
  at("save").download = said.file;
}
for (const button of document.querySelectorAll("[data-same]")) {
  button.addEventListener("click", () => { kind = button.dataset.same; showSame(); });
}
at("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(said[kind]);
  at("copy").textContent = "Copied";
  setTimeout(() => { at("copy").textContent = "Copy"; }, 1500);
});
let cancelled = 0; // the request that was to be ended
function cancel() { return fetch(`/w/${work}/cancel`, { method: "POST" }); }
at("cancel").addEventListener("click", () => { cancelled = number; cancel(); });

// --- whether the server is there ---------------------------------------------------------------------------------
const SILENT = { error: "The studio does not answer", hint: `this page goes on by itself when it does; if it was stopped, start it again with --port ${location.port}` };
const REFUSED = { error: "The studio was started again, and the key of this page is no longer good", hint: "open the address that it printed, and this page goes on by itself" };
let isLost = false;
function lost(why) {
  isLost = true;
  document.body.classList.add("lost");
  trouble(why);
}
function found() {
  isLost = false;
  document.body.classList.remove("lost");
  if (alive.readyState === EventSource.CLOSED) listen();
}

// A studio that was started again does not know this page, which tells what it was.
async function back() {
  if (!held) return false;
  const answer = await fetch(`/w/${work}/back`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(held) });
  return answer.ok;
}

let alive;
function listen() {
  alive = new EventSource(`/w/${work}/alive?tab=${tab}`);
  alive.onopen = () => { if (isLost) ask(); };
  alive.onerror = () => { if (alive.readyState === EventSource.CLOSED) ask(); else lost(SILENT); }; // closed: it answers, and does not know this page
}
listen();
addEventListener("pagehide", () => alive.close());

at("next").hidden = place === "publish" || place === "dossier"; // where there is nothing to publish
for (const link of document.querySelectorAll("nav a")) if (link.getAttribute("href") === place) {
  link.setAttribute("aria-current", "page");
  link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft - 40; // where the row of tabs is longer than a phone is wide
}
document.title = `${document.querySelector("[aria-current]")?.textContent ?? ""} · divulge studio`;
ask().then(() => {
  if (location.hash === "#again") trouble({ error: "The studio was started again, and this is a new page", hint: "open the table, and its policy file if it was saved" });
});
