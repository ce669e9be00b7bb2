// The marks of a plot as SVG, and a list of what the pointer may find: {x, y, mark, place}.
const SVG = "http://www.w3.org/2000/svg";
const DASH = { dash: "7 4", dot: "1.5 4", dashdot: "8 4 1.5 4" };
const SHAPE = {
  circle: "M1,0A1,1 0 1 1 -1,0A1,1 0 1 1 1,0Z", square: "M-.9,-.9H.9V.9H-.9Z", diamond: "M0,-1.3L1.1,0L0,1.3L-1.1,0Z",
  "triangle-up": "M0,-1.2L1.15,.9H-1.15Z", "triangle-down": "M0,1.2L1.15,-.9H-1.15Z",
  cross: "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
  x: "M-1.1,-.6L-.6,-1.1L0,-.5L.6,-1.1L1.1,-.6L.5,0L1.1,.6L.6,1.1L0,.5L-.6,1.1L-1.1,.6L-.5,0Z",
  star: "M0,-1.4L.35,-.45L1.35,-.45L.55,.15L.85,1.15L0,.55L-.85,1.15L-.55,.15L-1.35,-.45L-.35,-.45Z",
};
const MOST_RECTANGLES = 3000; // cells; a map of more is one image

function make(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent?.append(element);
  return element;
}

const fixed = (value) => Math.round(value * 100) / 100;

function pathOf(points, stepped) {
  return points.map(([x, y], i) => `${i ? (stepped ? `H${fixed(x)}V` : "L") : "M"}${i && stepped ? "" : `${fixed(x)},`}${fixed(y)}`).join("");
}

// Bands lie below all lines, so that none is veiled by a neighbour's.
function drawLine(mark, sx, sy, parent, bands, found, base) {
  const known = mark.x.map((x, place) => ({ x, y: mark.y[place], place })).filter((one) => typeof one.y === "number");
  const top = known.map(({ x, y }) => { const low = base?.get(x) ?? 0; base?.set(x, low + y); return mark.stacked ? low + y : y; });
  const points = known.map(({ x }, i) => [sx.at(x), sy.at(top[i])]);
  const { colour, dash, symbol } = mark.look;
  if (mark.stacked) {
    const below = known.map(({ x, y }, i) => [sx.at(x), sy.at(top[i] - y)]).reverse();
    make("path", { d: `${pathOf([...points, ...below])}Z`, fill: colour, "fill-opacity": 0.35 }, parent);
  }
  if (mark.spread) {
    const edge = (sign) => known.map(({ x, y, place }) => [sx.at(x), sy.at(y + sign * mark.spread[place])]);
    make("path", { d: `${pathOf([...edge(1), ...edge(-1).reverse()])}Z`, fill: colour, "fill-opacity": 0.14, class: "band" }, bands);
  }
  const look = { d: pathOf(points, mark.stepped), fill: "none", stroke: colour, "stroke-width": 2, "stroke-linejoin": "round", class: "line" };
  if (DASH[dash]) Object.assign(look, { "stroke-dasharray": DASH[dash], "stroke-linecap": "round" });
  make("path", look, parent);
  if (mark.dotted || points.length === 1) points.forEach(([x, y]) => drawSymbol(symbol, x, y, points.length === 1 ? 5 : 3, colour, parent));
  points.forEach(([x, y], i) => found.push({ x, y, mark, place: known[i].place }));
}

function drawSymbol(symbol, x, y, size, colour, parent, more = {}) {
  return make("path", { d: SHAPE[symbol] ?? SHAPE.circle, transform: `translate(${fixed(x)},${fixed(y)}) scale(${size})`, fill: colour, ...more }, parent);
}

function drawError(mark, place, at, along, parent) {
  const off = mark.spread?.[place];
  if (typeof off !== "number") return;
  const inside = (value) => Math.min(along.high, Math.max(along.low, value));
  const [a, b] = [along.at(inside(mark.y[place] - off)), along.at(inside(mark.y[place] + off))];
  make("line", { x1: at, x2: at, y1: fixed(a), y2: fixed(b), stroke: "var(--soft)", "stroke-width": 1 }, parent);
}

// Bars of one place stand on each other or beside each other; those that lie have their lengths in x.
function drawBars(mark, plot, sx, sy, parent, found, base, turn, turns) {
  const [names, lengths, across, along] = plot.across ? [mark.y, mark.x, sy, sx] : [mark.x, mark.y, sx, sy];
  names.forEach((name, place) => {
    const length = lengths[place];
    if (typeof length !== "number" || !across.has(name)) return;
    const low = plot.stacked ? base.get(name) ?? 0 : 0;
    if (plot.stacked) base.set(name, low + length);
    const whole = mark.widths ? Math.abs(across.at(name + mark.widths[place]) - across.at(name)) - 1 : Math.min(across.band * (across.band < 6 ? 1 : plot.across ? 0.6 : 0.78), plot.across ? 30 : plot.stacked ? 56 : 64 * turns);
    const width = plot.stacked ? whole : whole / turns;
    const start = across.at(name) - whole / 2 + (plot.stacked ? 0 : turn * width);
    const [a, b] = [along.at(low), along.at(low + length)], begin = Math.min(a, b), size = Math.max(Math.abs(b - a), length ? 0.5 : 0);
    const box = plot.across ? { x: begin, y: start, width: size, height: width } : { x: start, y: begin, width, height: size };
    for (const key in box) box[key] = fixed(box[key]);
    make("rect", { ...box, fill: mark.look.colour, class: "bar", rx: !plot.stacked && width > 8 ? 2 : 0 }, parent);
    if (!plot.across) drawError(mark, place, fixed(start + width / 2), along, parent);
    found.push({ x: plot.across ? b : start + width / 2, y: plot.across ? start + width / 2 : b, mark, place, box });
  });
}

function drawDots(mark, sx, sy, parent, found, shade, turn, turns) {
  const side = sx.band ? (sx.band * 0.65 * (turn + 0.5)) / turns - sx.band * 0.325 : 0;
  mark.x.forEach((name, place) => {
    if (typeof mark.y[place] !== "number" || !sx.has(name)) return;
    const x = sx.at(name) + side, y = sy.at(mark.y[place]);
    const colour = mark.shades ? (typeof mark.shades[place] === "number" ? shade(mark.shades[place]) : "var(--grid)") : mark.look.colour;
    drawError(mark, place, fixed(x), sy, parent);
    const badly = mark.named?.includes(place) ? { stroke: "var(--warn)", "stroke-width": 2.5 } : {};
    const edge = mark.sizes ? { stroke: "var(--soft)", "stroke-width": 1, "vector-effect": "non-scaling-stroke", "fill-opacity": 0.92 } : { "fill-opacity": 0.9 };
    drawSymbol(mark.look.symbol, x, y, mark.sizes?.[place] ?? 4, colour, parent, { ...edge, ...badly, class: "dot-mark" });
    found.push({ x, y, mark, place });
  });
  for (const place of mark.named ?? []) {
    const x = sx.at(mark.x[place]) + side, y = sy.at(mark.y[place]), off = (mark.sizes?.[place] ?? 4) + 4;
    const right = x + off + textWidth(mark.notes[place], 11) < Math.max(sx.from, sx.to);
    const text = { x: fixed(x + (right ? off : -off)), y: fixed(y + 4), "font-size": 11, "text-anchor": right ? "start" : "end" };
    make("text", { ...text, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 3, "paint-order": "stroke" }, parent, mark.notes[place]);
  }
}

function valuesOf(mark) {
  return mark.values ??= mark.rows.map((row) => row.split(",").map((one) => (one === "" ? null : Number(one))));
}

function drawCells(mark, sx, sy, parent, shade) {
  const rows = valuesOf(mark), [x0, y0] = [Math.min(sx.from, sx.to), Math.min(sy.from, sy.to)];
  if (rows.length * (rows[0]?.length ?? 0) > MOST_RECTANGLES) {
    const canvas = document.createElement("canvas"), columns = rows[0].length;
    Object.assign(canvas, { width: columns, height: rows.length });
    const context = canvas.getContext("2d");
    rows.forEach((row, j) => row.forEach((value, i) => { if (value !== null) { context.fillStyle = shade(value); context.fillRect(i, j, 1, 1); } }));
    const box = { x: x0, y: y0, width: fixed(Math.abs(sx.to - sx.from)), height: fixed(Math.abs(sy.to - sy.from)) };
    make("image", { href: canvas.toDataURL(), ...box, preserveAspectRatio: "none", style: "image-rendering: pixelated", class: "cells" }, parent);
    return;
  }
  const gap = mark.gaps ? 2 : 0;
  rows.forEach((row, j) => row.forEach((value, i) => {
    if (value === null) return;
    // Neighbours meet on whole pixels: otherwise thin lines of the background show between them.
    const [a, b] = [x0 + i * sx.band, x0 + (i + 1) * sx.band], [c, d] = [y0 + j * sy.band, y0 + (j + 1) * sy.band];
    const [left, top] = [Math.round(a), Math.round(c)];
    const box = { x: left + gap / 2, y: top + gap / 2, width: Math.max(1, Math.round(b) - left - gap), height: Math.max(1, Math.round(d) - top - gap) };
    const fill = shade(value);
    make("rect", { ...box, fill, class: "cell", rx: gap && box.width > 12 && box.height > 12 ? 2 : 0 }, parent);
    const text = mark.texts?.[j][i];
    if (text && textWidth(text, 11) < sx.band - 4 && sy.band > 13) {
      make("text", { x: fixed((a + b) / 2), y: fixed((c + d) / 2 + 4), "font-size": 11, "text-anchor": "middle", fill: onto(fill) }, parent, text);
    }
  }));
}

// Colours between the three stops of a scale, as numbers from 0 to 255.
function shadesOf(shades, stops) {
  const parts = stops.map((stop) => [1, 3, 5].map((start) => parseInt(stop.slice(start, start + 2), 16)));
  return (value) => {
    const t = Math.min(1, Math.max(0, (value - shades.low) / (shades.high - shades.low || 1))) * 2, k = t < 1 ? 0 : 1;
    return `#${parts[k].map((one, i) => Math.round(one + (parts[k + 1][i] - one) * (t - k)).toString(16).padStart(2, "0")).join("")}`;
  };
}

function onto(colour) {
  const [red, green, blue] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10151c" : "#ffffff";
}
