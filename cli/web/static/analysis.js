// The view of an analysis: the engine with its lines, the curve, the moves with variations, what is known of them.
import { svgElement } from "./board.js";
import { confirmed, el, iconButton, refill, select, tabs, toggle } from "./dom.js";
import { after } from "./look.js";
import { MoveList, SIGNS } from "./movelist.js";
import { store, stored } from "./net.js";
import { askNewGame } from "./newgame.js";
import { count, percent, scoreHelp, scoreText, sideName } from "./words.js";

const SETTINGS = "ckai-analysis", SHOWN = 10, CURVE_SECONDS = 0.25; // moves of a line that are shown; time for a point of the curve
const WIDTH = 600, HEIGHT = 120, CURVE = "Curve";

export class AnalysisView {
  constructor(app) {
    Object.assign(this, { app, table: app.table, on: true, lines: 3, engine: "", ...stored(SETTINGS) });
    Object.assign(this, { head: el("div.engine-head"), note: el("p.engine-note"), details: el("p.details"), files: el("div.tools"),
      buttons: el("div.tools"), tools: el("div.tools"), signs: el("div.signs"), explained: el("div.explained") });
    this.list = el("ol.lines", { pointerleave: () => this.leaveLine() });
    this.curve = svgElement("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.curve.addEventListener("click", ({ clientX }) => {
      const { left, width } = this.curve.getBoundingClientRect(), { line } = this.table;
      this.table.go(line[Math.round(((clientX - left) / width) * (line.length - 1))]);
    });
    this.curveButton = el("button.quiet.small", { "aria-label": "Value of every move", title: "Value of every move",
      click: () => this.drawWholeCurve() }, CURVE);
    this.moves = new MoveList(app);
    this.comment = el("textarea.comment-field", { rows: "2", maxlength: "10000", placeholder: "Comment",
      input: () => this.table.annotate({ comment: this.comment.value.trim() }) });
    this.pass = iconButton("next", "Pass", () => this.table.move(this.table.legal.find(({ path }) => !path.length)), { bare: false });
    this.tabs = tabs("about", [
      ["moves", "Moves", el("div", {}, this.moves.root, this.pass, el("div.annotations", {}, this.signs, this.tools, this.comment))],
      ...(app.site.server ? [["explain", "Explain", this.explained, () => this.drawExplain()]] : []),
    ]);
    this.root = el("section.card.analysis-view", { "aria-label": "Analysis" }, this.head, el("div.note-row", {}, this.note, this.buttons), this.list,
      el("div.about-game", {}, this.details, this.curveButton, this.files), el("div.curve-box", {}, this.curve), this.tabs);
    for (const type of ["state", "saved"]) this.table.on(type, () => this.update());
    this.table.on("values", () => this.drawCurve());
    app.engines.addEventListener("players", () => this.update());
  }
  enter() {
    this.table.interrupt();
    this.update();
  }
  leave() {
    this.search?.stop();
    Object.assign(this, { curveLeft: 0, searched: null, search: null, found: null });
    this.leaveLine();
    this.app.stage.point([]);
  }
  set(fields) {
    Object.assign(this, fields);
    store(SETTINGS, { on: this.on, lines: this.lines, engine: this.engine });
    this.update();
  }
  update() {
    if (!this.active) return;
    const { table } = this, { node } = table, analysts = this.app.engines.of(table.game, true), outcome = table.outcome();
    this.analyst = (analysts.find(({ spec }) => spec === this.engine) ?? analysts[0])?.spec;
    this.drawHead(analysts);
    this.follow();
    this.drawCurve();
    this.details.replaceChildren(...[table.opening(), outcome?.text ?? (table.result !== "*" && !node.children.length ? table.result : ""),
      table.problem, table.from, table.file && `Saved as games/${table.file.name}`]
      .filter(Boolean).map((text) => el("span", {}, text)));
    this.pass.hidden = !table.legal.some(({ path }) => !path.length);
    this.drawAnnotations();
    if (this.shown !== node) this.tabs.draw(this.shown = node);
  }

  // --- the engine ---------------------------------------------------------------------------------------
  drawHead(analysts) {
    const { table } = this, key = JSON.stringify([this.on, this.lines, this.analyst, analysts, table.interrupted]);
    if (key === this.headKey) return;
    this.headKey = key;
    refill(this.head, toggle("Engine", this.on, (on) => this.set({ on })),
      analysts.length ? select(analysts.map(({ spec, name }) => [spec, name]), this.analyst, (engine) => this.set({ engine }),
        { "aria-label": "Engine that analyses" }) : null,
      select(Array.from({ length: 10 }, (_, i) => [String(i + 1), count(i + 1, "line")]), String(this.lines),
        (n) => this.set({ lines: Number(n) }), { "aria-label": "Lines" }));
    refill(this.buttons,
      iconButton("help", "What the numbers mean", () => this.app.toast(scoreHelp(table.game), 12000)),
      table.interrupted && iconButton("back", "Back to the game", () => this.app.show("play"), { class: "primary" }));
  }

  // Search what is shown, if that is switched on.
  follow() {
    const { table } = this, { node } = table, legal = table.look()?.legal;
    const wanted = this.on && this.analyst && legal?.length ? [table.key, node.id, this.lines, this.analyst].join() : "";
    if (wanted === this.searched) return;
    this.search?.stop();
    Object.assign(this, { search: null, found: null, searched: wanted });
    this.drawLines();
    this.note.textContent = wanted ? "Searching …" : legal?.length === 0 ? "" : "Switch the engine on to see what it thinks.";
    if (!wanted) return;
    this.search = this.app.engines.search("analyse", { table, node, engine: this.analyst, lines: this.lines }, (found) => {
      if (found.lines) this.show(node, found);
      if (found.error || found.waiting) this.note.textContent = found.error ?? found.waiting;
    });
  }
  show(node, found) {
    this.found = found;
    this.table.judge(node, found.lines[0].value);
    if (!this.hovering) this.drawLines();
    const { visits, nodes, depth, seconds } = found;
    this.note.textContent = [visits ? count(visits, "visit") : count(nodes, "position"), `depth ${depth}`, `${seconds.toFixed(1)} s`].join(" · ");
  }
  drawLines() {
    const { game } = this.table, turn = this.table.turn(), lines = this.found?.lines ?? [];
    this.leaveLine();
    this.app.stage.point(lines.filter(({ pv }) => pv.length).map(({ pv: [{ path }] }, i) => ( // the better, the thicker
      { path, kind: i ? "last" : "best", width: Math.max(3, 8 - 2 * i), opacity: Math.max(0.45, 0.85 - 0.15 * i) })).reverse());
    this.list.replaceChildren(...lines.map((line) => el("li", {}, chip(game, line, turn),
      el("span.pv", {}, ...line.pv.slice(0, SHOWN).map((step, i) => {
        const button = el("button.pv-move", {
          pointerenter: (event) => event.pointerType === "mouse" && this.showLine(line.pv, i),
          focus: () => button.matches(":focus-visible") && this.showLine(line.pv, i),
          blur: () => this.leaveLine(),
          click: () => { this.leaveLine(); for (const each of line.pv.slice(0, i + 1)) this.table.move(each); },
        }, step.move);
        return button;
      })))));
  }
  showLine(pv, n) {
    this.hovering = true;
    this.app.stage.preview(pv.slice(0, n + 1).reduce((now, { changes }) => after(now, changes), this.table.pieces()), pv[n].path);
  }
  leaveLine() {
    if (this.hovering) this.app.stage.preview(null);
    this.hovering = false;
  }

  // --- the curve ----------------------------------------------------------------------------------------
  drawCurve() {
    if (!this.active) return;
    const { line, node, game } = this.table, last = Math.max(1, line.length - 1), x = (line.indexOf(node) / last) * WIDTH;
    const dots = line.map(({ value }, i) => [i, value]).filter(([, value]) => value !== null)
      .map(([i, value]) => [((i / last) * WIDTH).toFixed(1), ((1 - value) * HEIGHT).toFixed(1)].join());
    const [first] = dots, end = dots.at(-1), points = dots.join(" "), foot = (dot) => `${dot.split(",")[0]},${HEIGHT}`;
    this.curve.setAttribute("aria-label", `${node.value === null ? "No value yet" : scoreText(game, node.value)}; move by move: click to go there`);
    this.curve.replaceChildren(svgElement("rect", { class: first ? "white" : "unknown", width: WIDTH, height: HEIGHT }),
      ...(first ? [svgElement("polygon", { class: "black", points: `${foot(first)} ${points} ${foot(end)}` })] : []),
      svgElement("line", { class: "even", x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }),
      svgElement("polyline", { class: "value", points: dots.length === 1 ? `${points} ${points}` : points }),
      svgElement("line", { class: "cursor", x1: x, x2: x, y1: 0, y2: HEIGHT }));
  }

  // Value every position of the line, one after the other; pressed again, stop.
  async drawWholeCurve() {
    const { table } = this, nodes = this.curveLeft ? [] : table.line, { key } = table;
    this.curveLeft = nodes.length;
    try {
      for (const node of nodes) {
        if (!this.curveLeft || table.key !== key) break;
        this.curveButton.textContent = `${this.curveLeft--} left · Stop`;
        const outcome = table.look(node)?.outcome;
        if (outcome) table.judge(node, { black: 1, white: 0 }[outcome.winner] ?? 0.5);
        else if (node !== table.node || !this.found) {
          const { lines } = await this.app.engines.ask("ask", { table, node, engine: this.analyst, seconds: CURVE_SECONDS });
          table.judge(node, lines[0].value);
        }
      }
    } finally {
      this.curveLeft = 0;
      this.curveButton.textContent = CURVE;
    }
  }

  // --- signs, comments, files ---------------------------------------------------------------------------
  drawAnnotations() {
    const { table, app } = this, { node, game } = table, able = game.rules, { drawing } = app.stage.input;
    this.signs.hidden = !able || !node.parent;
    refill(this.signs, ...Object.entries(SIGNS).map(([text, [sign, title]]) => {
      const nag = Number(text), has = node.nags.includes(nag);
      return el("button.sign", { "aria-label": title, title, "aria-pressed": String(has),
        click: () => table.annotate({ nags: has ? node.nags.filter((n) => n !== nag) : [...node.nags, nag] }) }, sign);
    }));
    this.comment.hidden = !able;
    this.comment.setAttribute("aria-label", `Comment on ${node.move || "the first position"}`);
    if (document.activeElement !== this.comment || this.of !== node) this.comment.value = node.comment;
    this.of = node;
    refill(this.tools,
      iconButton("arrow", "Draw arrows", () => { app.stage.input.drawing = !drawing; this.update(); }, { "aria-pressed": String(drawing) }),
      iconButton("up", "Make this the main line", () => table.promote(),
        { disabled: table.path().every(({ parent }, i, path) => !parent || parent.children[0] === path[i]) }),
      iconButton("trash", "Delete from here", () => this.remove(), { disabled: !node.parent }));
    refill(this.files,
      iconButton("copy", "Copy the position (FEN)", () => app.copy(table.look()?.fen ?? "")),
      iconButton("download", "Download as PDN", () => app.download(table.pdn(), `game.${able ? "pdn" : `${game.name}.txt`}`)),
      app.site.server && iconButton("save", "Save", async () => app.toast(`Saved as games/${await app.referee.save()}`)),
      iconButton("go", "Play on from here", () => askNewGame(app, true)));
  }
  async remove() {
    const { table, app } = this;
    if (!await confirmed("Delete from here", `Delete ${table.number(table.node)} ${table.node.move} and all moves after it?`, "Delete")) return;
    if (!table.remove()) app.toast("Moves of the game in progress are not deleted; take them back in the game.");
  }

  // --- tabs ---------------------------------------------------------------------------------------------
  drawExplain() {
    const { table } = this, { node } = table;
    const explain = async () => {
      this.explained.replaceChildren(el("p.soft", {}, "Searching …"));
      const lines = await this.app.engines.ask("explain", { table, node }).then(({ text }) => text, ({ message }) => [message]);
      if (node === table.node) this.explained.replaceChildren(...lines.map((line) => el("p", {}, line)));
    };
    this.explained.replaceChildren(!node.parent ? el("p.soft", {}, "There is no move to explain at the first position.")
      : el("button.quiet.small", { click: explain }, `Explain ${table.number(node)} ${node.move}`));
  }
}

// A value as a chip: the expected score of the first player, in the colour of the side that is better.
function chip(game, { value, proven, plies }, turn) {
  const won = ["win", "loss"].includes(proven), winner = (proven === "win") === (turn === "black") ? "black" : "white";
  const side = won ? winner : value === null || Math.round(100 * value) === 50 ? "even" : value > 0.5 ? "black" : "white";
  const title = won ? `${sideName(game, winner)} wins${plies ? ` in ${count(plies, "ply", "plies")}` : ""}`
    : proven ? "Draw, proven" : value === null ? "No value" : scoreText(game, value);
  return el("span.chip-of-value", { class: side, title }, value === null ? "–" : percent(value) + (won && plies ? ` #${plies}` : ""));
}
