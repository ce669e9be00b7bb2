// The table of runs: it sorts, filters, keeps what is chosen, and follows the folder.
const ALL = ["running", "finished", "stopped", "failed", "unreadable"];
const WORDS = { running: "Running", finished: "Finished", stopped: "Stopped", failed: "Failed", unreadable: "Unreadable" };
const PAGE = 300; // rows that are drawn at first
const page = document.documentElement, chosen = new Set();
let rows = JSON.parse(document.getElementById("rows").textContent), sorted = { key: "changed", down: true }, only = "", shown = PAGE;

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

function age(changed) {
  const seconds = Math.max(0, Date.now() / 1000 - changed);
  const [size, unit] = [[86400, "day"], [3600, "h"], [60, "min"]].find(([one]) => seconds >= one) ?? [1, ""];
  if (!unit) return "just now";
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${unit === "day" && count > 1 ? "s" : ""} ago`;
}

const keyOf = { state: (row) => ALL.indexOf(row.state), strategy: (row) => row.strategy.toLowerCase(), data: (row) => row.data.toLowerCase() };

function visible() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => (!only || row.state === only) && words.every((word) => `${row.id} ${row.strategy} ${row.data} ${row.state} ${row.kind} ${row.metric}`.toLowerCase().includes(word)));
  const key = keyOf[sorted.key] ?? ((row) => row[sorted.key]);
  // What has no value stands last, whichever way it is sorted.
  return found.sort((a, b) => {
    const [one, other] = [key(a), key(b)], [none, neither] = [one === null, other === null];
    if (none || neither) return none - neither;
    return (one < other ? -1 : one > other ? 1 : 0) * (sorted.down ? -1 : 1);
  });
}

function line(row) {
  const pick = element("input", { type: "checkbox", checked: chosen.has(row.id), disabled: row.state === "unreadable", ariaLabel: `Choose ${row.id}` });
  pick.addEventListener("change", () => { chosen[pick.checked ? "add" : "delete"](row.id); showChoice(); });
  const name = element("th", { scope: "row" }, element("a", { href: `/view?run=${encodeURIComponent(row.id)}`, textContent: row.strategy }));
  if (row.kind === "sweep") name.append(element("span", { className: "tag", textContent: `sweep of ${row.runs}` }));
  name.append(element("span", { className: "place", textContent: row.id + (row.seed !== null ? ` · seed ${row.seed}` : "") }));
  if (row.problem) name.append(element("span", { className: "problem", textContent: row.problem }));
  const result = element("td", { className: "number" }, row.text);
  if (row.figure !== null) result.append(element("span", { className: "metric", textContent: row.kind === "sweep" ? `best mean ${row.metric}` : row.metric }));
  const planned = row.planned && row.planned !== row.rounds ? ` of ${row.planned.toLocaleString("en-GB")}` : "";
  const rounds = element("td", { className: "number rounds", textContent: row.kind === "sweep" ? `${row.done} of ${row.runs} runs` : row.rounds.toLocaleString("en-GB") + planned });
  if (row.kind === "run") rounds.append(element("span", { className: "unit", textContent: (row.planned ?? row.rounds) === 1 ? " round" : " rounds" }));
  if (row.state === "running" && row.planned) rounds.append(element("progress", { max: row.planned, value: row.rounds }));
  const chip = element("span", { className: "chip", textContent: WORDS[row.state] });
  chip.dataset.state = row.state;
  const changed = element("td", { className: "number changed", textContent: age(row.changed), title: new Date(row.changed * 1000).toLocaleString() });
  return element("tr", {}, element("td", { className: "pick" }, pick), name, element("td", { className: "data", textContent: row.data }), result, rounds, element("td", { className: "state" }, chip), changed);
}

function show() {
  const found = visible(), table = document.getElementById("runs"), none = document.getElementById("none");
  table.querySelector("tbody").replaceChildren(...found.slice(0, shown).map(line));
  const more = table.querySelector(".more");
  more.hidden = found.length <= shown;
  more.firstElementChild.textContent = `Show all ${found.length.toLocaleString("en-GB")}`;
  table.hidden = !found.length;
  none.hidden = Boolean(found.length);
  if (!found.length) {
    const text = rows.length ? ["Nothing fits the filter", "Take a word out of it, or show runs in every state."] : ["No runs yet", "They appear here as soon as they begin:"];
    none.replaceChildren(element("h2", { textContent: text[0] }), element("p", { textContent: text[1] }));
    if (!rows.length) none.append(element("p", {}, element("code", { textContent: "fedloom run --dataset digits" })));
  }
  for (const head of document.querySelectorAll("th[data-sort]")) {
    if (head.dataset.sort === sorted.key) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const sweeps = rows.filter((row) => row.kind === "sweep").length, runs = rows.length - sweeps;
  const counted = (count, word) => `${count.toLocaleString("en-GB")} ${word}${count === 1 ? "" : "s"}`;
  document.getElementById("counts").textContent = [counted(runs, "run"), ...(sweeps ? [counted(sweeps, "sweep")] : [])].join(" and ");
  const states = document.querySelector(".states");
  states.replaceChildren(...ALL.filter((state) => rows.some((row) => row.state === state)).map((state) => {
    const chip = element("span", { className: "chip", textContent: WORDS[state] });
    chip.dataset.state = state;
    const button = element("button", { type: "button", ariaPressed: String(only === state) }, chip, element("small", { textContent: rows.filter((row) => row.state === state).length }));
    button.addEventListener("click", () => { only = only === state ? "" : state; show(); });
    return button;
  }));
  page.dataset.rows = found.length;
  page.dataset.scrollWidth = page.scrollWidth;
  page.dataset.innerWidth = window.innerWidth;
  showChoice();
}

function showChoice() {
  for (const id of chosen) if (!rows.some((row) => row.id === id)) chosen.delete(id);
  const bar = document.querySelector(".choice");
  bar.hidden = !chosen.size;
  bar.querySelector("span").textContent = `${chosen.size} chosen`;
  const link = bar.querySelector("a");
  link.textContent = chosen.size > 1 ? "Compare" : "Show";
  link.href = "/view?" + [...chosen].map((id) => `run=${encodeURIComponent(id)}`).join("&");
}

for (const head of document.querySelectorAll("th[data-sort]")) {
  head.firstElementChild.addEventListener("click", () => {
    const key = head.dataset.sort, first = !["strategy", "data", "state"].includes(key); // numbers: the largest first
    sorted = { key, down: sorted.key === key ? !sorted.down : first };
    show();
  });
}
document.getElementById("filter").addEventListener("input", show);
document.querySelector(".more button").addEventListener("click", () => { shown = Infinity; show(); });
document.querySelector(".choice .clear").addEventListener("click", () => { chosen.clear(); show(); });
window.addEventListener("resize", show);
setInterval(() => document.querySelectorAll("td.changed").length < 2 * PAGE && show(), 60000);

const link = document.querySelector(".bar .link");
const source = new EventSource("/events");
source.addEventListener("open", () => { link.textContent = ""; });
source.addEventListener("error", () => { link.textContent = "The dashboard has ended; this page stays as it is."; });
source.addEventListener("change", async (event) => {
  if (event.data === page.dataset.token) return;
  try {
    const told = await (await fetch("/runs.json", { cache: "no-store" })).json();
    rows = told.rows;
    page.dataset.token = told.token;
    show();
  } catch (error) {
    link.textContent = "The dashboard does not answer.";
  }
});
show();
page.dataset.rendered = "1";
