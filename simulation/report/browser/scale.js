// Numbers to places and to text: ticks, formats, scales, and how wide a text will be.
const pen = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

function textWidth(text, size) {
  pen.font = `${size}px ${FONT}`;
  return pen.measureText(text).width;
}

function cut(text, size, most) {
  if (textWidth(text, size) <= most) return text;
  let end = text.length;
  while (end > 1 && textWidth(text.slice(0, end) + "…", size) > most) end -= 1;
  return text.slice(0, end) + "…";
}

// Powers of ten times 1, 2 or 5, so that about `count` of them lie between the ends.
function stepOf(low, high, count, least = 0) {
  const rough = Math.max((high - low) / Math.max(1, count), least, 1e-300);
  const ten = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  return ten * [1, 2, 5, 10].find((one) => one * ten >= rough * 0.999999);
}

function ticksOf(low, high, count, least = 0) {
  const step = stepOf(low, high, count, least), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return { step, found };
}

function grouped(value, decimals) {
  return value.toLocaleString("en-GB", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

// A tick has as many decimals as its step needs; a value that is pointed at has four digits, a share one decimal.
function tickText(value, unit, step) {
  const shown = unit === "share" ? 100 * value : value, size = unit === "share" ? 100 * step : step;
  if (unit !== "share" && value !== 0 && (Math.abs(value) >= 1e7 || size < 1e-5)) return value.toExponential(1);
  const decimals = Math.max(0, -Math.floor(Math.log10(size) + 1e-9));
  return grouped(Math.abs(shown) < size / 1e6 ? 0 : shown, decimals) + (unit === "share" ? "%" : "");
}

function valueText(value, unit) {
  if (typeof value !== "number") return String(value ?? "–");
  if (unit === "share") return `${(100 * value).toFixed(1)}%`;
  if (unit === "round" || Number.isInteger(value)) return Math.abs(value) < 1e15 ? grouped(value, 0) : value.toExponential(3);
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return value.toExponential(2);
  return grouped(value, Math.max(0, 3 - Math.floor(Math.log10(size))));
}

// What a mark covers of an axis: all its numbers, with their spread, and the sums of what is stacked.
function reach(plot, side, marks) {
  const bars = plot.across ? "x" : "y", ends = [];
  const sums = new Map();
  for (const mark of marks) {
    mark[side]?.forEach((value, place) => {
      if (typeof value !== "number") return;
      const off = side === bars ? mark.spread?.[place] ?? 0 : (mark.widths?.[place] ?? 0) / 2;
      ends.push(value - off, value + off);
      if (side === bars && ((mark.kind === "bars" && plot.stacked) || mark.stacked)) {
        const key = mark[side === "y" ? "x" : "y"][place];
        sums.set(key, (sums.get(key) ?? 0) + value);
      }
    });
    if (side === bars && mark.kind === "bars") ends.push(0);
  }
  ends.push(...sums.values());
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

// from: the pixel of the first place or smallest number. An axis of names has bands, any other is linear.
function scaleOf(axis, plot, side, marks, from, to) {
  if (axis.names) {
    const band = (to - from) / axis.names.length, places = new Map(axis.names.map((name, place) => [name, place]));
    const at = (name) => from + band * (places.get(name) + 0.5);
    const under = (pixel) => Math.min(axis.names.length - 1, Math.max(0, Math.floor((pixel - from) / band)));
    return { axis, band: Math.abs(band), at, under, has: (name) => places.has(name), from, to };
  }
  let [low, high] = reach(plot, side, marks);
  if (axis.from_zero) low = Math.min(low, 0), high = Math.max(high, 0);
  const room = axis.unit === "round" ? 0 : (high - low) * 0.06 || Math.abs(high) * 0.1 || 0.5;
  if (low === high && axis.unit === "round") low = Math.max(0, low - 1), high += 1;  // no round is before the first model
  if (!(axis.from_zero && low === 0)) low -= room;
  if (!(axis.from_zero && high === 0)) high += room;
  if (axis.low !== undefined) low = axis.low;
  if (axis.high !== undefined) high = axis.high;
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return { axis, band: 0, at, has: (value) => typeof value === "number", low, high, from, to };
}
