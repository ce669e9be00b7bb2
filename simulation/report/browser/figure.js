// A figure as one SVG of a given width: axes, marks, the scale of shades, and what the pointer finds in it.
const ROW = 17; // pixels of a line of text

function drawFigure(figure, width, { hidden, theme, legend, squeeze = 1 }) {
  const size = width < 480 ? 11 : 12, plots = figure.plots;
  const told = figure.legend ? legendOf(figure) : [];
  const rows = legend && told.length > 1 ? legendRows(told, width) : [];
  const high = Math.round(figure.height * squeeze), height = high + rows.length * 20;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT, "font-size": size, class: "plot" });
  rows.forEach((row, line) => row.forEach(({ look, x }) => drawKey(look, x, 4 + line * 20, svg)));
  const seen = plots.map((plot) => plot.marks.filter((mark) => !hidden.has(nameOf(mark))));
  const shade = figure.shades ? shadesOf(figure.shades, theme.scale) : null;
  const right = figure.shades ? drawShades(figure.shades, svg, width, high, rows.length * 20 + 12, size, shade) : 14;
  const bottom = plots[plots.length - 1].x, left = leftOf(plots, seen, figure, size, width);
  const inner = Math.max(60, width - left - right);
  const below = belowOf(bottom, inner, size), top = rows.length * 20 + 8;
  const room = height - top - below.height - 14 * (plots.length - 1), found = [];
  const places = [];
  let y = top;
  plots.forEach((plot, index) => {
    const own = room * (plots.length > 1 ? plot.share ?? 1 : 1), group = make("g", {}, svg);
    const sx = scaleOf(plot.x, plot, "x", seen[index], left, left + inner);
    const names = plot.y.names;
    const sy = scaleOf(plot.y, plot, "y", seen[index], names ? y : y + own, names ? y + own : y);
    drawRows(plot.y, sy, group, left, inner, size, own);
    if (plot.y.title) make("text", { transform: `translate(11,${fixed(y + own / 2)}) rotate(-90)`, "text-anchor": "middle", class: "axis-title" }, group, cut(plot.y.title, size, own));
    const last = index === plots.length - 1;
    drawColumns(plot.x, sx, group, y, own, size, last ? below : null);
    drawMarks(plot, seen[index], sx, sy, group, found, shade);
    if (plot.note) make("text", { x: left + 10, y: y + 18, class: "note", "font-weight": 600 }, group, plot.note);
    places.push({ plot, sx, sy, top: y, bottom: y + own });
    y += own + 14;
  });
  if (bottom.title) make("text", { x: left + inner / 2, y: height - 4, "text-anchor": "middle", class: "axis-title" }, svg, cut(bottom.title, size, inner + left));
  return { svg, found, places, left, inner };
}

const nameOf = (mark) => (mark.look?.group !== undefined ? `group-${mark.look.group}` : mark.look?.name ?? "");

function legendOf(figure) {
  const looks = figure.plots.flatMap((plot) => plot.marks).filter((mark) => mark.look?.name && mark.look.told !== false);
  return looks.map((mark) => ({ look: mark.look, name: nameOf(mark), line: mark.kind === "line" && !mark.stacked }));
}

function legendRows(told, width) {
  const rows = [[]];
  let x = 8;
  for (const { look } of told) {
    const own = 34 + textWidth(look.name, 12) + 12;
    if (x + own > width && rows[rows.length - 1].length) rows.push([]), (x = 8);
    rows[rows.length - 1].push({ look, x });
    x += own;
  }
  return rows;
}

function drawKey(look, x, y, parent) {
  make("line", { x1: x, x2: x + 24, y1: y + 6, y2: y + 6, stroke: look.colour, "stroke-width": 3, ...(DASH[look.dash] ? { "stroke-dasharray": DASH[look.dash] } : {}) }, parent);
  make("text", { x: x + 30, y: y + 10, fill: "var(--ink)" }, parent, look.name);
}

function leftOf(plots, seen, figure, size, width) {
  let widest = 0;
  plots.forEach((plot, index) => {
    const texts = plot.y.names ?? axisTicks(scaleOf(plot.y, plot, "y", seen[index], 0, figure.height * (plot.share ?? 1)), plot.y, 40).map((tick) => tick.text);
    if (plot.y.labelled !== false) widest = Math.max(widest, ...texts.map((text) => textWidth(String(text), size)));
  });
  return Math.min(widest, width * 0.34) + 10 + (plots.some((plot) => plot.y.title) ? ROW + 3 : 0);
}

function axisTicks(scale, axis, room) {
  const count = Math.max(2, Math.abs(scale.to - scale.from) / room), least = axis.unit === "round" ? 1 : 0;
  const { step, found } = ticksOf(scale.low, scale.high, count, least);
  return found.map((value) => ({ at: scale.at(value), text: tickText(value, axis.unit, step) }));
}

function drawRows(axis, scale, parent, left, inner, size, height) {
  const labelled = axis.labelled !== false;
  if (!axis.names) {
    for (const { at, text } of axisTicks(scale, axis, height < 120 ? 26 : 44)) {
      if (axis.grid !== false) make("line", { x1: left, x2: left + inner, y1: fixed(at), y2: fixed(at), class: "grid" }, parent);
      if (labelled) make("text", { x: left - 7, y: fixed(at + 4), "text-anchor": "end", class: "tick" }, parent, text);
    }
    return;
  }
  const every = Math.max(1, Math.ceil((size + 2) / scale.band));
  axis.names.forEach((name, place) => {
    if (!labelled || place % every) return;
    const text = make("text", { x: left - 7, y: fixed(scale.at(name) + 4), "text-anchor": "end", class: "tick" }, parent, cut(String(name), size, left - 8 - (axis.title ? ROW + 3 : 0)));
    if (text.textContent !== String(name)) make("title", {}, text, name);
  });
}

// How the labels below a figure stand: all of them level, some of them, or all of them slanting.
function belowOf(axis, inner, size) {
  const title = axis.title ? ROW + 3 : 0;
  if (axis.labelled === false) return { height: title + 6, every: 0 };
  if (!axis.names) return { height: ROW + title + 2, every: 1 };
  const band = inner / axis.names.length, widest = Math.max(...axis.names.map((name) => textWidth(String(name), size)));
  if (axis.unit === "round") {
    const span = Math.max(1, axis.names.at(-1) - axis.names[0]);
    return { height: ROW + title + 2, step: stepOf(0, span, Math.max(1, inner / Math.max(48, widest + 16)), 1) };
  }
  if (widest <= band - 4) return { height: ROW + title + 2, every: 1 };
  const every = Math.max(1, Math.ceil((size + 3) / band));
  if (axis.names.every((name) => /^\d+$/.test(name))) return { height: ROW + title + 2, every: Math.ceil((widest + 8) / band) };
  return { height: Math.min(widest, 88) * 0.7 + 14 + title, every, slant: true };
}

function drawColumns(axis, scale, parent, top, height, size, below) {
  const base = top + height;
  make("line", { x1: scale.from, x2: scale.to, y1: fixed(base), y2: fixed(base), class: "grid" }, parent);
  if (!axis.names) {
    const ticks = axisTicks(scale, axis, size * 7);
    for (const { at, text } of ticks) {
      if (axis.grid !== false) make("line", { x1: fixed(at), x2: fixed(at), y1: top, y2: base, class: "grid" }, parent);
      const anchor = at > scale.to - textWidth(text, size) / 2 && scale.to - at < 1 ? "end" : "middle";
      if (below && axis.labelled !== false) make("text", { x: fixed(at), y: base + ROW, "text-anchor": anchor, class: "tick" }, parent, text);
    }
    return;
  }
  if (!below) return;
  axis.names.forEach((name, place) => {
    if (below.step ? name % below.step : !below.every || place % below.every) return;
    const x = fixed(scale.at(name));
    if (!below.slant) return void make("text", { x, y: base + ROW, "text-anchor": "middle", class: "tick" }, parent, name);
    const text = make("text", { transform: `translate(${x + 4},${fixed(base + 12)}) rotate(-42)`, "text-anchor": "end", class: "tick" }, parent, cut(String(name), size, 88));
    make("title", {}, text, name);
  });
}

function drawMarks(plot, marks, sx, sy, group, found, shade) {
  const base = new Map(), lines = new Map();
  const bars = marks.filter((mark) => mark.kind === "bars"), dots = [...new Set(marks.filter((mark) => mark.kind === "dots").map(nameOf))];
  const bands = make("g", {}, group);
  for (const mark of marks) {
    const own = make("g", { class: `mark ${mark.kind}`, "data-name": nameOf(mark) }, group);
    if (mark.kind === "line") drawLine(mark, sx, sy, own, bands, found, mark.stacked ? lines : null);
    if (mark.kind === "bars") drawBars(mark, plot, sx, sy, own, found, base, bars.indexOf(mark), bars.length);
    if (mark.kind === "dots") drawDots(mark, sx, sy, own, found, shade, dots.indexOf(nameOf(mark)), dots.length);
    if (mark.kind === "cells") drawCells(mark, sx, sy, own, shade);
  }
}

function drawShades({ title, low, high, unit, ticks }, svg, width, room, top, size, shade) {
  const height = Math.min(220, room - 90);
  const step = stepOf(low, high, 5), at = (value) => top + height * (1 - (value - low) / (high - low || 1));
  const marks = ticks ?? ticksOf(low, high, 5).found.map((value) => [value, tickText(value, unit, step)]);
  const wide = Math.max(...marks.map(([, text]) => textWidth(text, size))), x = width - wide - 18;
  const pieces = 64;
  for (let k = 0; k < pieces; k += 1) {
    const value = low + ((k + 0.5) / pieces) * (high - low);
    make("rect", { x, y: fixed(at(low + ((k + 1) / pieces) * (high - low))), width: 9, height: fixed(height / pieces + 0.6), fill: shade(value) }, svg);
  }
  for (const [value, text] of marks) make("text", { x: x + 14, y: fixed(at(value) + 4), class: "tick" }, svg, text);
  if (width >= 480) make("text", { transform: `translate(${x - 6},${top + height / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-title" }, svg, title);
  return wide + 18 + (width >= 480 ? 34 : 14);
}
