// Charts as SVG: lines with axes, ticks and a legend.
import { svgElement } from "./board.js";
import { el } from "./dom.js";

const WIDTH = 460, HEIGHT = 230, LEFT = 52, RIGHT = 12, TOP = 12, BOTTOM = 36, BOTH = LEFT + WIDTH - RIGHT;
const color = (n) => `series-${n + 1}`;

/** Draw a chart: `x` has whole numbers, each of up to 4 series its `name` and, for each of them, a number in `y`. Returns a <figure>. */
export function chart({ title, xlabel, x, series }) {
  const numbers = series.flatMap(({ y }) => y), at = x[0] ?? 0;
  const [xLow, xHigh] = x.length > 1 ? [Math.min(...x), Math.max(...x)] : [at - 1, at + 1];
  const ys = ticks(Math.min(...numbers), Math.max(...numbers), 5);
  const xs = ticks(xLow, xHigh, 6, 1).filter((each) => each >= xLow && each <= xHigh);
  const px = (value) => LEFT + ((value - xLow) / (xHigh - xLow)) * (WIDTH - LEFT - RIGHT);
  const py = (value) => TOP + ((ys.at(-1) - value) / (ys.at(-1) - ys[0])) * (HEIGHT - TOP - BOTTOM);
  const text = (words, name, at, anchor = "middle") => svgElement("text", { class: name, ...at, "text-anchor": anchor }, words);
  const lines = series.map(({ y }, n) => svgElement("polyline", { class: `series ${color(n)}`,
    points: x.map((value, i) => `${px(value).toFixed(1)},${py(y[i]).toFixed(1)}`).join(" ") }));
  const last = series.map(({ name, y }) => `${name}: ${short(y.at(-1))}`);
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

const short = (value) => Number(value.toPrecision(3)).toLocaleString("en");
