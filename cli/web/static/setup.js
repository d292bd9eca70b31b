// Positions set up by hand: a tray of pieces, the side to move, the position as text.
import { svgElement } from "./board.js";
import { el, icon, iconButton, segments } from "./dom.js";
import { look } from "./look.js";
import { askNewGame } from "./newgame.js";
import { count, pieceName, sideName } from "./words.js";

export class SetupView {
  constructor(app) {
    Object.assign(this, { app, table: app.table, root: el("section.card.setup-view", { "aria-label": "Set up" }) });
    this.table.on("state", () => this.active && this.table.game !== this.game && this.enter());
  }
  enter() {
    const { table } = this, { game } = table;
    Object.assign(this, { game, pieces: { ...table.pieces() }, turn: table.turn(), tool: "b" });
    this.app.stage.lend(this);
    this.build();
    this.redraw();
  }
  leave() { this.app.stage.lend(null); }

  /** Put a piece on a square, take it away, or move it there; `square` is null off the board. */
  edit(square, from) {
    const letter = from === null ? this.tool : this.pieces[from], same = from === null && this.pieces[square] === letter;
    if (from !== null) delete this.pieces[from];
    if (square !== null && letter && !same) this.pieces[square] = letter;
    else if (square !== null) delete this.pieces[square];
    this.redraw();
  }
  show() {
    const { board, input } = this.app.stage;
    board.show(this.pieces);
    input.draw(this.pieces);
  }
  redraw(fields = {}) {
    Object.assign(this, fields).show();
    this.check({ pieces: this.pieces, black: this.turn === "black" });
  }
  async check(position) {
    const asked = this.asked = {}, found = await look(this.game, position).catch(({ message }) => ({ message }));
    if (asked !== this.asked) return;
    const { fen, pieces, turn, legal, message } = found;
    this.message.textContent = message ?? count(legal.length, "legal move");
    this.message.classList.toggle("error", Boolean(message));
    for (const button of this.uses) button.disabled = Boolean(message);
    if (message) return;
    if (document.activeElement !== this.text || typeof position === "string") this.text.value = fen;
    Object.assign(this, { fen, pieces: { ...pieces }, turn });
    this.show();
    this.sides.pick(turn);
  }
  build() {
    const { game, table, app } = this, button = (text, click, name = "quiet") => el("button", { class: name, click }, text);
    const tools = [...(game.kings ? ["b", "B", "w", "W"] : ["b", "w"]), ""].map((letter) => {
      const name = letter ? pieceName(game, letter) : "Empty a square";
      return [letter, el("button.tray-piece", { "aria-label": name, title: name, click: () => choose(letter) },
        letter ? this.picture(letter) : icon("trash"))];
    });
    const choose = (letter) => {
      this.tool = letter;
      for (const [each, made] of tools) made.setAttribute("aria-pressed", String(each === letter));
    };
    const read = () => this.check(this.text.value.trim());
    this.sides = segments("Side to move", ["black", "white"].map((side) => [side, sideName(game, side)]), this.turn, (turn) => this.redraw({ turn }));
    this.sides.hidden = !game.turnable;
    this.text = el("input", { type: "text", spellcheck: "false", autocomplete: "off", "aria-label": "Position as text",
      change: read, keydown: ({ key }) => key === "Enter" && read() });
    this.message = el("p.message", { role: "status" });
    this.uses = [button("Analyse", () => { table.analyse(game, this.fen); app.show("analysis"); }, "primary"),
      button("Play", () => { table.analyse(game, this.fen); askNewGame(app, true); })];
    this.root.replaceChildren(el("h2", {}, "Set up"),
      el("p.soft", {}, "Click a piece, then the squares where it belongs; drag a man off the board to take it away."),
      el("div.tray", { role: "group", "aria-label": "Place" }, ...tools.map(([, made]) => made)), this.sides,
      el("div.actions.left", {}, button("Empty the board", () => this.redraw({ pieces: {} })),
        button("First position", () => this.check("")), iconButton("flip", "Turn the board", () => app.stage.flip())),
      el("label.field.wide-field", {}, el("span", {}, "Position as text"), this.text),
      this.message, el("div.actions.left", {}, ...this.uses));
    choose(this.tool);
  }
  picture(letter) {
    const text = this.game.pieceLetters[letter], svg = svgElement("svg", { viewBox: "-22 -22 44 44", "aria-hidden": "true" });
    svg.append(text ? svgElement("text", { class: `letter ${letter}` }, text) : svgElement("use", { href: `#piece-${letter}` }));
    return svg;
  }
}
