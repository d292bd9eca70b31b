// A look inside a network: its input planes, its policy before and after a search.
import { svgElement } from "./board.js";
import { bar, el, field, refill, segments, select, table as tableOf } from "./dom.js";
import { percent, sideName } from "./words.js";

const VISITS = [100, 400, 1000, 4000, 10000];

export class InsideView {
  constructor(app) {
    Object.assign(this, { app, table: app.table, visits: 400, when: "before" });
    this.result = el("div.looked");
    this.head = el("div.engine-head");
    this.root = el("section.card.inside-view", { "aria-label": "Inside" }, el("h2", {}, "Inside"), el("p.soft", {},
      "What the network sees of this position, what it would play at first sight, and what the search makes of it."), this.head, this.result);
    this.table.on("state", () => this.update());
    app.engines.addEventListener("players", () => this.drawHead());
  }
  enter() {
    this.drawHead();
    this.update();
    if (this.found) this.heat();
  }
  leave() {
    this.app.stage.board.mark("heat", []);
    this.app.stage.point([]);
  }
  drawHead() {
    const { game } = this.table, networks = this.app.engines.of(game, true).filter(({ group }) => group === "network");
    this.game = game;
    if (!networks.some(({ spec }) => spec === this.player)) this.player = networks[0]?.spec;
    refill(this.head, ...(networks.length ? [
      select(networks.map(({ spec, name }) => [spec, name]), this.player, (spec) => { this.player = spec; }, { "aria-label": "Network" }),
      field("Visits", select(VISITS.map((n) => [String(n), n.toLocaleString("en")]), String(this.visits), (n) => { this.visits = Number(n); })),
      el("button.primary", { click: () => this.look() }, "Look inside"),
    ] : [el("p.soft", {}, "There is no network for this game here.")]));
  }
  update() {
    if (!this.active) return;
    if (this.game !== this.table.game) this.drawHead();
    if (!this.found || this.node === this.table.node) return;
    this.found = null;
    this.result.replaceChildren(el("p.soft", {}, "The position has changed: look again."));
    this.leave();
  }
  async look() {
    const { table } = this, { node } = table;
    this.result.replaceChildren(el("p.soft", { role: "status" }, "Searching …"));
    try {
      const found = await this.app.engines.ask("inside", { table, node, engine: this.player, visits: this.visits });
      found.moves = Object.entries(found.priors).map(([move, before]) => (
        { move, before, after: found.shares[move] ?? 0, path: table.look(node).legal.find((each) => each.move === move).path }));
      Object.assign(this, { found, node });
      if (node === table.node) this.draw();
      else this.update();
    } catch (error) {
      this.result.replaceChildren(el("p.error", {}, error.message));
    }
  }
  draw() {
    const { before, lines: [{ value: after }], moves, encoding, planes } = this.found, { game } = this.table, squares = this.app.stage.board.squares;
    const toggle = segments("On the board", [["before", "First sight"], ["after", "After the search"]], this.when, (when) => {
      this.when = when;
      this.heat();
    });
    this.result.replaceChildren(
      el("p", {}, `Expected score of ${sideName(game, "black")}: ${percent(before)} at first sight, ${percent(after)} after the search.`), toggle,
      tableOf(["Move", "First sight", "After the search"], [...moves].sort((a, b) => b.after - a.after || b.before - a.before)
        .map((each) => [each.move, bar(each.before, "prior"), bar(each.after, "visits")])),
      el("h3", {}, `Input planes · ${encoding}`), el("div.planes", {}, ...Object.entries(planes).map(([name, values]) =>
        el("figure", {}, this.small(squares, values, `sees ${name}`), el("figcaption", {}, name)))));
    if (this.active) this.heat();
  }

  // The policy over the board: squares that moves lead to, and an arrow a move.
  heat() {
    const shares = {}, { when } = this, { stage } = this.app;
    for (const { path, [when]: share } of this.found.moves) if (path.length) shares[path.at(-1)] = (shares[path.at(-1)] ?? 0) + share;
    stage.board.mark("heat", Object.keys(shares).map(Number), (square) => (0.15 + 0.85 * shares[square]).toFixed(2));
    stage.point(this.found.moves.filter((each) => each[when] > 0.02).map((each) => (
      { path: each.path, kind: "last", width: 2 + 5 * each[when], opacity: 0.35 + 0.6 * each[when] })));
  }

  // Numbers by squares as a small board, as people see it.
  small(squares, values, label) {
    const { rows, columns, cells } = this.table.game.layout, most = Math.max(...values.map(Math.abs)) || 1, { flipped } = this.app.stage.board;
    return svgElement("svg", { class: "small-board", viewBox: `0 0 ${columns} ${rows}`, role: "img", "aria-label": label },
      svgElement("rect", { class: "ground", width: columns, height: rows }), ...squares.flatMap((square, i) => {
        const [row, column] = cells[square], value = values[i] / most;
        const place = { x: (flipped ? columns - 1 - column : column) + 0.03, y: (flipped ? rows - 1 - row : row) + 0.03, width: 0.94, height: 0.94 };
        return [svgElement("rect", { class: "cell-ground", ...place }),
          svgElement("rect", { class: value < 0 ? "below" : "above", ...place, "fill-opacity": Math.abs(value).toFixed(3) })];
      }));
  }
}
