// What is told about the place under the pointer: rows of {look, name, text} below a heading.
function under(drawn, figure, x, y, hidden) {
  const place = drawn.places.find((one) => y >= one.top - 7 && y <= one.bottom + 7);
  if (!place || x < drawn.left - 8 || x > drawn.left + drawn.inner + 8) return null;
  const cells = place.plot.marks.find((mark) => mark.kind === "cells");
  if (cells) return ofCell(cells, place, x, y, figure);
  const found = drawn.found.filter((one) => place.plot.marks.includes(one.mark) && one.mark.look.name !== "");
  return figure.hover === "column" ? ofColumn(found, place, x, y) : ofMark(found, place, x, y, figure);
}

function ofCell(cells, { sx, sy }, x, y, figure) {
  const [i, j] = [sx.under(x), sy.under(y)], value = valuesOf(cells)[j]?.[i];
  if (value === null || value === undefined) return null;
  const note = cells.notes?.[j][i];
  const text = filled(cells.hover, { x: sx.axis.names[i], y: sy.axis.names[j], z: valueText(value, figure.shades.unit), note: typeof note === "number" ? valueText(note) : note });
  return { x: sx.at(sx.axis.names[i]), y: sy.at(sy.axis.names[j]), rows: text.split("\n").map((one) => ({ text: one })) };
}

function ofColumn(found, { plot, sx, sy }, x, y) {
  const side = plot.across ? "y" : "x", at = plot.across ? y : x, scale = plot.across ? sy : sx;
  const centre = (one) => (one.box || one.mark.kind === "dots" ? scale.at(one.mark[side][one.place]) : one[side]);
  const nearest = found.reduce((best, one) => (!best || Math.abs(centre(one) - at) < Math.abs(centre(best) - at) ? one : best), null);
  if (!nearest) return null;
  const key = nearest.mark[side][nearest.place], unit = plot[side].unit ?? "number";
  const other = side === "x" ? "y" : "x";
  const rows = found.filter((one) => one.mark[side][one.place] === key).map(({ mark, place }) => {
    const spread = mark.spread?.[place], value = valueText(mark[other][place], plot[other].unit);
    return { look: mark.look, name: mark.look.name, text: typeof spread === "number" ? `${value} ± ${valueText(spread, plot[other].unit)}` : value };
  });
  const heading = unit === "round" ? `${plot[side].title} ${valueText(key, "round")}` : String(key);
  const point = centre(nearest);
  return { x: plot.across ? nearest.x : point, y: plot.across ? point : null, column: plot.across ? null : point, heading, rows };
}

function ofMark(found, { plot }, x, y, figure) {
  const distance = (one) => {
    if (one.box) return x >= one.box.x - 1 && x <= one.box.x + one.box.width + 1 ? 0.1 * Math.abs(y - one.y) : 1e9;
    return Math.hypot(one.x - x, one.y - y) - (one.mark.sizes?.[one.place] ?? 0) / 2;
  };
  const nearest = found.reduce((best, one) => (!best || distance(one) < distance(best) ? one : best), null);
  if (!nearest || distance(nearest) > 40) return null;
  const { mark, place } = nearest;
  const values = { x: valueText(mark.x[place], plot.x.unit), y: valueText(mark.y[place], plot.y.unit), note: mark.notes?.[place] };
  if (mark.shades) values.z = valueText(mark.shades[place], figure.shades.unit);
  const rows = filled(mark.hover || "{x}: {y}", values).split("\n").map((text) => ({ text }));
  if (mark.details) rows.push({ text: mark.details[place] });
  const several = found.some((one) => one.mark !== mark);
  return { x: nearest.x, y: nearest.y, point: true, heading: several ? mark.look.name : "", rows };
}

const filled = (template, values) => template.replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? "–"));

function showTip(slot, told, scale) {
  const { tip, element, drawn } = slot;
  drawn.svg.querySelectorAll(".pointer").forEach((one) => one.remove());
  tip.hidden = !told;
  if (!told) return;
  if (told.column) {
    const { top, bottom } = { top: drawn.places[0].top, bottom: drawn.places.at(-1).bottom };
    make("line", { x1: told.column, x2: told.column, y1: top, y2: bottom, class: "pointer" }, drawn.svg);
  } else if (told.point) {
    make("circle", { cx: told.x, cy: told.y, r: 6, class: "pointer" }, drawn.svg);
  }
  tip.replaceChildren();
  if (told.heading) tip.append(Object.assign(document.createElement("b"), { textContent: told.heading }));
  for (const { look, name, text } of told.rows) {
    const row = document.createElement("span");
    if (look) {
      const dot = document.createElement("i");
      dot.style.background = look.colour;
      row.append(dot, Object.assign(document.createElement("em"), { textContent: name }));
    }
    row.append(Object.assign(document.createElement("span"), { textContent: text }));
    tip.append(row);
  }
  const x = told.x * scale, y = (told.y ?? drawn.places[0].top) * scale, width = tip.offsetWidth, all = element.clientWidth;
  tip.style.left = `${Math.max(0, Math.min(all - width, x + 14 + width <= all ? x + 14 : x - 14 - width))}px`;
  tip.style.top = `${Math.max(0, told.y === null || told.y === undefined ? y : y - tip.offsetHeight - 10)}px`;
}
