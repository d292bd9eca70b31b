// Charts as SVG: lines with axes, ticks and a legend; a series may have intervals.
import { svgElement } from "./board.js";
import { el } from "./dom.js";

const WIDTH = 460, HEIGHT = 230, LEFT = 52, RIGHT = 12, TOP = 12, BOTTOM = 36;

/**
 * Draw a chart.
 * @param x whole numbers, one per point.
 * @param series {name, y, low, high}: per point, `y` has a number or null; `low` and `high`, optional, the ends
 *   of an interval or null.
 * @returns a <figure>.
 */
export function chart({ title, xlabel, ylabel, x, series }) {
  const numbers = series.flatMap((each) => [...each.y, ...(each.low ?? []), ...(each.high ?? [])])
    .filter((each) => each !== null && Number.isFinite(each));
  const ys = ticks(Math.min(...(numbers.length ? numbers : [0])), Math.max(...(numbers.length ? numbers : [1])), 5);
  const xs = ticks(x.length ? Math.min(...x) : 0, x.length ? Math.max(...x) : 1, 6, 1)
    .filter((each) => x.length < 2 || (each >= Math.min(...x) && each <= Math.max(...x)));
  const [xLow, xHigh] = x.length > 1 ? [Math.min(...x), Math.max(...x)] : [(x[0] ?? 0) - 1, (x[0] ?? 0) + 1];
  const px = (value) => LEFT + ((value - xLow) / (xHigh - xLow)) * (WIDTH - LEFT - RIGHT);
  const py = (value) => TOP + ((ys.at(-1) - value) / (ys.at(-1) - ys[0])) * (HEIGHT - TOP - BOTTOM);
  const text = (words, attributes) => {
    const made = svgElement("text", attributes);
    made.textContent = words;
    return made;
  };
  const parts = [];
  for (const value of ys) {
    parts.push(svgElement("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value) }),
      text(short(value), { class: "tick", x: LEFT - 6, y: py(value) + 4, "text-anchor": "end" }));
  }
  for (const value of xs) {
    parts.push(text(short(value), { class: "tick", x: px(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }));
  }
  parts.push(text(xlabel, { class: "axis", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }),
    text(ylabel, { class: "axis", transform: `translate(11,${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }));
  series.forEach((each, n) => {
    const color = `series-${(n % 4) + 1}${n >= 4 ? " dashed" : ""}`;
    const known = x.map((value, i) => [value, each.y[i], i]).filter(([, y]) => y !== null && Number.isFinite(y));
    for (const [value, , i] of each.low ? known.filter(([, , i]) => each.low[i] !== null) : []) {
      parts.push(svgElement("line", { class: `interval ${color}`, x1: px(value), x2: px(value),
        y1: py(each.low[i]), y2: py(each.high[i]) }));
    }
    const points = known.map(([value, y]) => `${px(value).toFixed(1)},${py(y).toFixed(1)}`).join(" ");
    parts.push(svgElement("polyline", { class: `series ${color}`, points }));
    if (known.length < 40) {
      for (const [value, y] of known) parts.push(svgElement("circle", { class: `dot-of ${color}`, cx: px(value), cy: py(y), r: 2.6 }));
    }
  });
  const last = series.map((each) => `${each.name}: ${short(each.y.findLast((y) => y !== null) ?? NaN)}`);
  return el("figure.chart", {}, el("figcaption", {}, title),
    svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${last.join(", ")}` }, ...parts),
    series.length > 1 ? el("ul.legend", {}, ...series.map((each, n) =>
      el("li", { class: `series-${(n % 4) + 1}${n >= 4 ? " dashed" : ""}` }, each.name))) : null);
}

// Round numbers that enclose a range, at least `least` apart.
function ticks(low, high, count, least = 0) {
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough));
  const first = Math.floor(low / step), last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (size && size < 1e-3) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}
