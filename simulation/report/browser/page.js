// The page: draws its figures in the page's colours and widths, and again when the theme, the width, the paper or a choice changes.
const root = document.documentElement;
const hidden = new Set(); // configurations that the page's key hides
let slots = [];

const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
const theme = () => ({ scale: [0, 1, 2].map((stop) => colour("scale-" + stop)) });

function openSlot(element) {
  const variants = JSON.parse(document.getElementById(element.id + "-data").textContent);
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  const slot = { element, variants, tip, chosen: 0, own: new Set(), keyed: "keyed" in element.dataset };
  const scale = () => slot.drawn.svg.getBoundingClientRect().width / slot.width || 1;
  const point = (event) => {
    if (!slot.drawn || event.target.closest?.(".legend")) return;
    const box = slot.drawn.svg.getBoundingClientRect(), by = scale();
    const told = under(slot.drawn, slot.variants[slot.chosen].figure, (event.clientX - box.left) / by, (event.clientY - box.top) / by);
    showTip(slot, told, by);
    if (told) tip.style.top = `${parseFloat(tip.style.top) + slot.drawn.svg.offsetTop || parseFloat(tip.style.top)}px`;
  };
  element.addEventListener("pointermove", point);
  element.addEventListener("pointerdown", point);
  element.addEventListener("pointerleave", () => slot.drawn && showTip(slot, null));
  return slot;
}

function draw(slot, width = slot.element.clientWidth, squeeze = 1) {
  const { figure } = slot.variants[slot.chosen];
  slot.width = Math.max(240, Math.round(width));
  slot.drawn = drawFigure(figure, slot.width, { hidden: slot.keyed ? hidden : slot.own, theme: theme(), squeeze });
  slot.element.replaceChildren(...(slot.keyed ? [] : legendElement(slot, figure)), slot.drawn.svg, slot.tip);
  slot.tip.hidden = true;
}

function legendElement(slot, figure) {
  const told = figure.legend ? legendOf(figure) : [];
  if (told.length < 2) return [];
  const box = Object.assign(document.createElement("div"), { className: "legend" });
  for (const { look, name, line } of told) {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.setAttribute("aria-pressed", String(!slot.own.has(name)));
    const swatch = make("svg", { width: 20, height: 10, "aria-hidden": "true" }, button);
    if (line) make("line", { x1: 1, x2: 19, y1: 5, y2: 5, stroke: look.colour, "stroke-width": 2.5, ...(DASH[look.dash] ? { "stroke-dasharray": DASH[look.dash] } : {}) }, swatch);
    else drawSymbol(look.symbol === undefined || look.symbol === "circle" ? "square" : look.symbol, 10, 5, 4.5, look.colour, swatch);
    button.append(look.name);
    button.addEventListener("click", () => { slot.own[slot.own.has(name) ? "delete" : "add"](name); draw(slot); });
    box.append(button);
  }
  return [box];
}

function drawAll() {
  slots.forEach((slot) => draw(slot));
  root.dataset.rendered = document.querySelectorAll(".figure > svg.plot").length;
  measure();
}

function measure() {
  root.dataset.scrollWidth = root.scrollWidth;
  root.dataset.innerWidth = window.innerWidth;
}

// The picture as a file of its own: light colours in place of the page's variables, and with its legend.
function download(slot, name) {
  const light = { ink: "#1b1f26", soft: "#59626f", grid: "#e9ecf1", card: "#ffffff", line: "#dfe3e9" };
  const { svg } = drawFigure(slot.variants[slot.chosen].figure, 960, { hidden: slot.keyed ? hidden : slot.own, theme: { scale: ["#e6eefa", "#5d94d8", "#12366a"] }, legend: true });
  svg.setAttribute("xmlns", SVG);
  svg.prepend(make("rect", { width: "100%", height: "100%", fill: light.card }), make("style", {}, null, ".grid{stroke:#e9ecf1}.tick,.axis-title,.note{fill:#59626f}"));
  const text = svg.outerHTML.replace(/var\(--(\w+)\)/g, (_, key) => light[key] ?? light.ink);
  const link = Object.assign(document.createElement("a"), { download: `${name}.svg`, href: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text) });
  link.click();
}

function begin() {
  const chosen = new Map([...document.querySelectorAll("select[data-for]")].map((one) => [one.dataset.for, one]));
  slots = [...document.querySelectorAll(".figure")].map(openSlot);
  for (const slot of slots) {
    const select = chosen.get(slot.element.id);
    select?.addEventListener("change", () => { slot.chosen = Number(select.value); draw(slot); });
    if (select) slot.chosen = Number(select.value);
    const section = slot.element.closest("section"), button = section?.querySelector("button.save");
    button?.addEventListener("click", () => download(slot, section.querySelector("h2").textContent));
  }
  for (const button of document.querySelectorAll(".key button")) {
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.group)));
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(shown));
      hidden[shown ? "delete" : "add"](button.dataset.group);
      slots.filter((slot) => slot.keyed).forEach((slot) => draw(slot));
    });
  }
  root.dataset.figures = slots.length;
  drawAll();
}

// On paper everything is light, and as wide as a page of it.
function toPaper() {
  root.dataset.printing = "";
  slots.forEach((slot) => draw(slot, slot.element.closest(".wide") ? 700 : 340, 0.75));
}

function fromPaper() {
  delete root.dataset.printing;
  drawAll();
}

let waiting = 0;
window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(drawAll); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
window.addEventListener("beforeprint", toPaper);
window.addEventListener("afterprint", fromPaper);
begin();
