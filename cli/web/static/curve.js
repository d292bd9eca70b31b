// The curve of values over a game: Black's expected points move by move. A click goes there.
import { svgElement } from "./board.js";
import { sideName, t } from "./labels.js";

const WIDTH = 600, HEIGHT = 120;

export class Curve {
  /** @param go called with the node to show. */
  constructor(table, go) {
    this.table = table;
    this.svg = svgElement("svg", {
      class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    });
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect();
      const { line } = this.table.state;
      go(line[Math.round(((event.clientX - box.left) / box.width) * (line.length - 1))]);
    });
    table.on("values", () => this.draw());
    table.on("state", () => this.draw());
    if (table.state) this.draw();
  }

  draw() {
    const { line, node } = this.table.state;
    const last = Math.max(1, line.length - 1);
    const known = line.map((id, i) => [i, this.table.points(id)]).filter(([, black]) => black !== null);
    const dots = known.map(([i, black]) => [(i / last) * WIDTH, (1 - black) * HEIGHT]);
    const points = dots.map((dot) => dot.map((each) => each.toFixed(1)).join()).join(" ");
    const parts = [svgElement("rect", { class: known.length ? "white" : "unknown", width: WIDTH, height: HEIGHT })];
    if (dots.length > 1) {
      const ground = `${dots[0][0]},${HEIGHT} ${points} ${dots.at(-1)[0]},${HEIGHT}`;
      parts.push(svgElement("polygon", { class: "black", points: ground }));
    }
    parts.push(svgElement("line", { class: "even", x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }));
    if (dots.length) parts.push(svgElement("polyline", { class: "value", points: dots.length > 1 ? points : `${points} ${points}` }));
    const x = (line.indexOf(node) / last) * WIDTH;
    parts.push(svgElement("line", { class: "cursor", x1: x, x2: x, y1: 0, y2: HEIGHT }));
    this.svg.setAttribute("aria-label", t("curve label", { side: sideName(this.table.game, "black") }));
    this.svg.replaceChildren(...parts);
  }
}
