// The view of an analysis: the engine, the curve, the moves with variations, what is known of the position.
import { Annotations } from "./annotations.js";
import { Curve } from "./curve.js";
import { el, field, iconButton, refill, select, tabs, toggle } from "./dom.js";
import { t } from "./labels.js";
import { arrowsOf, Lines } from "./lines.js";
import { MoveList } from "./movelist.js";

export class AnalysisView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.lines = new Lines(app, (steps) => this.add(steps));
    this.curve = new Curve(this.table, (node) => app.do("go", { node }));
    this.moves = new MoveList(app);
    this.head = el("div.engine-head");
    this.note = el("p.engine-note");
    this.verdict = el("p.details");
    this.priors = el("div.scroll");
    this.experts = el("div.scroll");
    this.explained = el("div.explained");
    this.valueButton = el("button.quiet.small", { click: () => this.values() });
    this.annotations = new Annotations(app);
    this.pass = iconButton("next", t("pass"), () => this.add([this.table.pass]), { bare: false, hidden: true });
    this.tabs = tabs("about", [
      ["moves", t("moves"), el("div", {}, this.moves.root, this.pass, this.annotations.root)],
      ["priors", t("priors"), this.priors], ["experts", t("experts"), this.experts],
      ["explain", t("explain"), this.explained],
    ], (key) => this.opened(key));
    this.root = el("section.card.analysis-view", { "aria-label": t("analysis") },
      this.head, this.note, this.lines.root, el("div.about-game", {}, this.verdict, this.annotations.files),
      el("div.curve-box", {}, this.curve.svg, this.valueButton), this.tabs);
    this.table.on("state", () => this.update());
    this.table.on("players", () => this.drawHead());
    this.table.on("search", (search) => this.searched(search));
    this.table.on("values", ({ left }) => this.counting(left));
    this.table.on("online", () => this.counting(0)); // a search ends with its connection
    this.counting(0);
    this.update();
  }

  enter() {
    this.active = true;
    this.update();
    if (this.table.search) this.searched(this.table.search);
  }

  leave() {
    this.active = false;
    this.lines.leave();
    this.app.stage.point([]);
    if (this.table.state.analyse.on) this.app.do("analyse", { on: false });
  }

  update() {
    const { state } = this.table;
    const key = JSON.stringify([state.analyse, state.game]);
    if (key !== this.headKey) {
      this.headKey = key;
      this.drawHead();
    }
    if (!this.table.search) {
      this.lines.draw(null);
      if (this.active) this.app.stage.point([]);
      this.note.textContent = state.outcome ? "" : t(state.analyse.on ? "searching" : "idle");
      this.drawPriors();
    }
    this.verdict.replaceChildren(...[state.opening, state.verdict?.text, state.outcome?.text, ...state.notices,
      state.problem, state.file && t("file game", { ...state.file, index: state.file.index + 1 })]
      .filter(Boolean).map((text) => el("span", {}, text)));
    this.pass.hidden = !this.table.pass;
    if (this.active && this.shownPlace !== this.table.place) {
      this.shownPlace = this.table.place;
      this.opened(this.tabs.shown);
    }
  }

  drawHead() {
    const { state, welcome } = this.table;
    const { on, lines, player } = state.analyse;
    const networks = welcome.networks.filter((each) => each.game === state.game);
    const set = (fields) => this.app.do("analyse", { on, lines, ...(player && { player }), ...fields });
    const numbers = Array.from({ length: 10 }, (_, i) => [String(i + 1), String(i + 1)]);
    refill(this.head,
      toggle(t("engine"), on, (now) => set({ on: now })),
      networks.length ? select(networks.map(({ name }) => [name, name]), player ?? networks[0].name,
        (name) => set({ player: name }), { "aria-label": t("network") }) : "",
      field(t("lines"), select(numbers, String(lines ?? 3), (n) => set({ lines: Number(n) }))));
  }

  searched(search) {
    if (!this.active) return;
    this.lines.draw(search);
    this.app.stage.point(arrowsOf(search.lines ?? []));
    const { visits, seconds, depth, waiting, text } = search;
    this.note.textContent = text ?? (waiting ? t("waiting")
      : [t("visits", { n: visits.toLocaleString("en") }), t("depth", { n: depth }), `${seconds.toFixed(1)} s`].join(" · "));
    if (this.tabs.shown === "priors") this.drawPriors();
  }

  // Moves become a variation; a game that is being played waits meanwhile.
  async add(steps) {
    let { node } = this.table.state;
    if (this.table.state.mode === "play" && !await this.app.do("analysis")) return;
    for (const { move } of steps) {
      const done = await this.app.do("play", { move, node });
      if (!done) return;
      node = done.node;
    }
  }

  values() {
    if (this.left) this.app.do("endcurve").then(() => this.counting(0));
    else this.app.do("curve").then((done) => done && this.counting(done.nodes));
  }

  counting(left) {
    this.left = left;
    this.valueButton.textContent = left ? `${t("curve left", { n: left })} · ${t("stop curve")}` : t("draw curve");
  }

  // --- tabs ---------------------------------------------------------------------------------------------

  opened(key) {
    if (key === "priors") this.drawPriors();
    else if (key === "experts") this.drawExperts();
    else if (key === "explain") this.drawExplain();
  }

  drawPriors() {
    const { search } = this.table;
    if (!search?.priors?.length) {
      this.priors.replaceChildren(el("p.soft", {}, t("priors idle")));
      return;
    }
    const total = search.priors.reduce((sum, each) => sum + each.visits, 0) || 1;
    refill(this.priors, table([t("move"), t("prior"), t("share")], search.priors.map(({ move, prior, visits }) =>
      [this.moveButton(move), bar(prior, "prior"), bar(visits / total, "visits", visits.toLocaleString("en"))])));
  }

  async drawExperts() {
    const { place } = this.table;
    const found = await this.app.do("experts", { node: this.table.state.node });
    if (!found || place !== this.table.place) return;
    const { source, total, rows } = found;
    const text = !source ? t("no experts") : t(total ? "expert source" : "expert none", { source, total });
    this.experts.replaceChildren(el("p.soft", {}, text), rows.length
      ? table([t("move"), t("times"), t("score")], rows.map(({ move, moves, times, score }) => [
        el("span", {}, ...(moves?.length ? moves : [move]).map((each) => this.moveButton(each))),
        bar(times / total, "visits", times), score === null ? "–" : bar(score, "prior")])) : "");
  }

  drawExplain() {
    const { node } = this.table;
    this.explained.replaceChildren(node.parent === null ? el("p.soft", {}, t("explain none"))
      : el("button.quiet.small", { click: () => this.explain() }, t("explain move", { move: `${node.number} ${node.move}` })));
  }

  async explain() {
    const { place } = this.table;
    this.explained.replaceChildren(el("p.soft", {}, t("searching")));
    const answer = await this.app.do("explain", { node: this.table.state.node });
    if (place !== this.table.place) return;
    if (!answer) this.drawExplain();
    else this.explained.replaceChildren(...answer.lines.map((line) => el("p", {}, line)));
  }

  moveButton(move) {
    return el("button.pv-move", { click: () => this.add([{ move }]) }, move);
  }
}

/** A table of cells, which are texts or elements. */
export function table(heads, rows, options = {}) {
  return el("table", options, el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, cell))))));
}

/** A share from 0 to 1 as a bar with its number. */
export function bar(share, name, text = `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`) {
  const fill = el("span.share-fill", { class: name });
  fill.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  return el("span.share", {}, el("span.share-bar", {}, fill), el("span.share-text", {}, String(text)));
}
