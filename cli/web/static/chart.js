// Charts as SVG: lines with axes, ticks and a legend.
import { svgElement } from "./board.js";
import { el } from "./dom.js";

const WIDTH = 460, HEIGHT = 230, LEFT = 52, RIGHT = 12, TOP = 12, BOTTOM = 36, BOTH = LEFT + WIDTH - RIGHT;
const color = (n) => `series-${(n % 4) + 1}${n >= 4 ? " dashed" : ""}`;

/** Draw a chart: `x` has whole numbers, a series its `name` and, for each of them, a number or null in `y`. Returns a <figure>. */
export function chart({ title, xlabel, x, series }) {
  const numbers = series.flatMap(({ y }) => y).filter(Number.isFinite), at = x[0] ?? 0;
  const [xLow, xHigh] = x.length > 1 ? [Math.min(...x), Math.max(...x)] : [at - 1, at + 1];
  const ys = ticks(numbers.length ? Math.min(...numbers) : 0, numbers.length ? Math.max(...numbers) : 1, 5);
  const xs = ticks(xLow, xHigh, 6, 1).filter((each) => each >= xLow && each <= xHigh);
  const px = (value) => LEFT + ((value - xLow) / (xHigh - xLow)) * (WIDTH - LEFT - RIGHT);
  const py = (value) => TOP + ((ys.at(-1) - value) / (ys.at(-1) - ys[0])) * (HEIGHT - TOP - BOTTOM);
  const text = (words, name, at, anchor = "middle") => svgElement("text", { class: name, ...at, "text-anchor": anchor }, words);
  const lines = series.flatMap(({ y }, n) => {
    const known = x.map((value, i) => [value, y[i]]).filter(([, each]) => Number.isFinite(each))
      .map(([value, each]) => [px(value).toFixed(1), py(each).toFixed(1)]);
    return [svgElement("polyline", { class: `series ${color(n)}`, points: known.join(" ") }),
      ...(known.length < 40 ? known.map(([cx, cy]) => svgElement("circle", { class: `dot-of ${color(n)}`, cx, cy, r: 2.6 })) : [])];
  });
  const last = series.map(({ name, y }) => `${name}: ${short(y.findLast((each) => each !== null) ?? NaN)}`);
  return el("figure.chart", {}, el("figcaption", {}, title),
    svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${last.join(", ")}` },
      ...ys.flatMap((value) => [svgElement("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value) }),
        text(short(value), "tick", { x: LEFT - 6, y: py(value) + 4 }, "end")]),
      ...xs.map((value) => text(short(value), "tick", { x: px(value), y: HEIGHT - BOTTOM + 16 })),
      text(xlabel, "axis", { x: BOTH / 2, y: HEIGHT - 4 }), ...lines),
    series.length > 1 ? el("ul.legend", {}, ...series.map(({ name }, n) => el("li", { class: color(n) }, name))) : null);
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
  const size = Math.abs(value), digits = (each) => Number(each.toPrecision(3));
  if (!Number.isFinite(value)) return "–";
  if (size >= 1e4) return size >= 1e6 ? `${digits(value / 1e6)}M` : `${digits(value / 1e3)}k`;
  return size && size < 1e-3 ? value.toExponential(0) : String(digits(value));
}
