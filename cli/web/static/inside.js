// A look inside a network: its input planes, its policy before and after a search, how the visits grew, its filters.
import { table, bar } from "./analysis.js";
import { svgElement } from "./board.js";
import { chart } from "./chart.js";
import { el, field, refill, select } from "./dom.js";
import { pointsText, t } from "./labels.js";

const VISITS = [100, 400, 1000, 4000, 10000];
const FOLLOWED = 5; // moves of the chart of visits

export class InsideView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.visits = 400;
    this.when = "before";
    this.result = el("div.looked");
    this.head = el("div.engine-head");
    this.root = el("section.card.inside-view", { "aria-label": t("inside") },
      el("h2", {}, t("inside")), el("p.soft", {}, t("inside help")), this.head, this.result);
    this.table.on("state", () => this.update());
    this.table.on("players", () => this.drawHead());
  }

  enter() {
    this.active = true;
    this.drawHead();
    this.update();
    if (this.found) this.heat();
  }

  leave() {
    this.active = false;
    this.app.stage.board.mark("heat", []);
    this.app.stage.point([]);
  }

  drawHead() {
    const { state, welcome } = this.table;
    this.game = state.game;
    const networks = welcome.networks.filter((each) => each.game === state.game);
    if (!networks.some(({ name }) => name === this.player)) this.player = networks[0]?.name;
    refill(this.head, ...(networks.length ? [
      select(networks.map(({ name }) => [name, name]), this.player, (name) => { this.player = name; }, { "aria-label": t("network") }),
      field(t("search visits"), select(VISITS.map((n) => [String(n), n.toLocaleString("en")]), String(this.visits),
        (n) => { this.visits = Number(n); })),
      el("button.primary", { click: () => this.look() }, t("look")),
    ] : [el("p.soft", {}, t("no networks"))]));
  }

  update() {
    if (!this.active) return;
    if (this.game !== this.table.state.game) this.drawHead();
    if (this.found && this.lookedAt !== this.table.place) {
      this.forget();
      this.app.stage.board.mark("heat", []);
      this.app.stage.point([]);
    }
  }

  forget() {
    this.found = null;
    this.result.replaceChildren(el("p.soft", {}, t("shown")));
  }

  async look() {
    const { place } = this.table;
    const { node } = this.table.state;
    this.result.replaceChildren(el("p.soft", { role: "status" }, t("looking")));
    const found = await this.app.do("look", { node, player: this.player, visits: this.visits });
    if (!found) {
      this.result.replaceChildren();
      return;
    }
    if (place !== this.table.place) {
      this.forget();
      return;
    }
    Object.assign(this, { found, lookedAt: place });
    this.draw();
  }

  draw() {
    const { found } = this;
    const { game } = this.table;
    const { blackBefore, blackAfter } = found.value;
    this.toggle = el("div.segments");
    const policy = [...found.moves].sort((a, b) => b.after - a.after || b.before - a.before);
    this.result.replaceChildren(
      el("div.values-of-look", {}, ...[["before", blackBefore], ["after", blackAfter]].map(([key, black]) =>
        el("div", {}, el("span.soft", {}, t(key)), el("b", {}, pointsText(game, black))))),
      el("fieldset.choice", {}, el("legend", {}, t("on board")), this.toggle),
      table([t("move"), t("before"), t("after")], policy.map(({ move, before, after }) =>
        [move, bar(before, "prior"), bar(after, "visits")])),
      this.growth(), el("h3", {}, `${t("planes")} · ${found.encoding}`), this.planes(),
      el("h3", {}, t("filters")), this.filters());
    if (this.active) this.heat();
  }

  // The policy over the board: squares that moves lead to, and an arrow a move.
  heat() {
    const shares = {};
    for (const each of this.found.moves) {
      const end = each.path.at(-1);
      if (end === undefined) continue; // a pass
      shares[end] = (shares[end] ?? 0) + each[this.when];
    }
    const squares = Object.keys(shares).map(Number);
    const { stage } = this.app;
    stage.board.mark("heat", squares, (square) => (0.15 + 0.85 * shares[square]).toFixed(2));
    stage.point(this.found.moves.filter((each) => each[this.when] > 0.02).map((each) => ({
      path: each.path, kind: "last", width: 2 + 5 * each[this.when], opacity: 0.35 + 0.6 * each[this.when],
    })));
    refill(this.toggle, ...["before", "after"].map((when) => el("button", {
      "aria-pressed": String(this.when === when), click: () => { this.when = when; this.heat(); },
    }, t(when))));
  }

  growth() {
    const { growth, moves } = this.found;
    const best = [...moves].sort((a, b) => b.after - a.after).slice(0, FOLLOWED);
    return chart({
      title: t("growth"), xlabel: t("search visits").toLowerCase(), ylabel: t("share of visits"),
      x: growth.map((each) => each.visits),
      series: best.map(({ move }) => ({
        name: move,
        y: growth.map((each) => {
          const total = Object.values(each.moves).reduce((sum, n) => sum + n, 0);
          return total ? (each.moves[move] ?? 0) / total : null;
        }),
      })),
    });
  }

  planes() {
    const { squares, planes } = this.found;
    return el("div.planes", {}, ...planes.map(({ name, values }) =>
      el("figure", {}, this.small(squares, values, t("sees", { plane: name })), el("figcaption", {}, name))));
  }

  filters() {
    const { filters } = this.found;
    if (!filters) return el("p.soft", {}, t("no filters"));
    let plane = 0;
    const grid = el("div.planes.of-filters");
    const draw = () => grid.replaceChildren(...filters.items.map((item, i) => {
      const label = `${t("filter n", { n: i + 1 })}: ${t("filter plane", { plane: filters.planes[plane] })}`;
      return filters.kind === "kernels" ? kernel(item[plane], filters, label) : this.small(filters.squares, item[plane], label);
    }));
    draw();
    return el("div", {}, select(filters.planes.map((name, i) => [String(i), name]), "0", (i) => { plane = Number(i); draw(); },
      { "aria-label": t("planes") }), grid);
  }

  // Numbers by squares as a small board, as people see it.
  small(squares, values, label) {
    const { rows, columns, cells } = this.table.game.layout;
    const svg = svgElement("svg", { class: "small-board", viewBox: `0 0 ${columns} ${rows}`, role: "img", "aria-label": label },
      svgElement("rect", { class: "ground", width: columns, height: rows }));
    const most = Math.max(...values.map(Math.abs)) || 1;
    const { flipped } = this.app.stage;
    squares.forEach((square, i) => {
      const [row, column] = cells[square];
      svg.append(pixel(flipped ? columns - 1 - column : column, flipped ? rows - 1 - row : row, values[i] / most));
    });
    return svg;
  }
}

function kernel(values, { rows, columns }, label) {
  const most = Math.max(...values.map(Math.abs)) || 1;
  return svgElement("svg", { class: "small-board", viewBox: `0 0 ${columns} ${rows}`, role: "img", "aria-label": label },
    svgElement("rect", { class: "ground", width: columns, height: rows }),
    ...values.map((value, i) => pixel(i % columns, Math.floor(i / columns), value / most)));
}

// A number from -1 to 1: one colour above 0, another below.
function pixel(x, y, value) {
  return svgElement("g", {}, svgElement("rect", { class: "cell-ground", x: x + 0.03, y: y + 0.03, width: 0.94, height: 0.94 }),
    svgElement("rect", { class: value < 0 ? "below" : "above", x: x + 0.03, y: y + 0.03, width: 0.94, height: 0.94,
      "fill-opacity": Math.abs(value).toFixed(3) }));
}
