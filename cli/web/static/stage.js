// The board with what stands around it: the players, their clocks, the value bar.
import { Board, svgElement } from "./board.js";
import { el, icon } from "./dom.js";
import { after } from "./look.js";
import { MoveInput } from "./moveinput.js";
import { moveName, percent, scoreText, sideName } from "./words.js";

const SIDES = ["black", "white"];
const two = (number) => String(Math.floor(number)).padStart(2, "0");
const clockText = (left) => (left < 10 ? left.toFixed(1) : left < 3600 ? `${Math.floor(left / 60)}:${two(left % 60)}`
  : `${Math.floor(left / 3600)}:${two((left / 60) % 60)}:${two(left % 60)}`);

export class Stage {
  constructor(app, root) {
    Object.assign(this, { app, table: app.table, root, arrows: [] });
    this.editor = null; // takes over the board while positions are set up
    this.node = null; // the node on the board
    this.strips = Object.fromEntries(SIDES.map((side) => {
      const parts = { dot: el("span.dot", { class: side }), name: el("span.name"), note: el("span.note"), clock: el("span.clock") };
      return [side, Object.assign(el("div.strip", {}, ...Object.values(parts)), { parts })];
    }));
    this.fill = el("div.fill");
    this.bar = el("div.value-bar", { role: "img" }, this.fill);
    this.frame = el("div.frame-of-board");
    this.field = el("div.playing-field", {}, this.bar, this.frame);
    this.table.on("state", () => this.update());
    this.table.on("values", () => this.drawValue());
    setInterval(() => this.tick(), 100);
    this.update();
  }

  // --- the board ----------------------------------------------------------------------------------------
  build() {
    const { game } = this.table;
    Object.assign(this, { game, node: null });
    this.svg = svgElement("svg", { class: `board on-stage ${game.name}`, role: "grid", "aria-label": `${game.title} board` });
    this.frame.replaceChildren(this.svg, ...(game.columnLabels.length
      ? [el("div.columns", { "aria-hidden": "true" }, ...game.columnLabels.map((text) => el("span", {}, text)))] : []));
    this.board = new Board(this.svg, game.layout, game.pieceLetters);
    this.input = new MoveInput(this.board, game, { moved: (...move) => this.play(...move), edited: (...edit) => this.editor?.edit(...edit),
      pointed: (...arrow) => this.drawArrow(...arrow) });
  }
  update() {
    const { table } = this, seats = `${table.key}/${table.mode}`;
    if (this.game !== table.game) this.build();
    if (seats !== this.seats) this.turn(table.game.turnable && table.mySide === "black");
    this.seats = seats;
    if (!this.editor) this.show();
    this.drawStrips();
    this.drawValue();
  }
  turn(flipped) {
    if (this.board.flipped !== flipped) {
      this.board.flip();
      this.input.placeCells();
    }
    this.bar.classList.toggle("flipped", flipped);
    const [above, below] = flipped ? ["white", "black"] : SIDES;
    this.root.replaceChildren(this.strips[above], this.field, this.strips[below]);
  }

  /** Turn the board around. */
  flip() { this.turn(!this.board.flipped); }
  show() {
    const { table, node: old } = this, { node, legal } = table, pieces = table.pieces();
    if (old !== node || this.pieces !== pieces) {
      const made = old === node.parent && node.move === this.moved; // by hand: it is on the board
      const motion = made ? null : old && old === node.parent && node.path.length ? node
        : old && old.parent === node && old.path.length > 1 ? { path: [...old.path].reverse(), captures: [] } : null;
      Object.assign(this, { node, pieces, moved: null });
      if (old !== node) this.tell(node);
      this.board.show(pieces, motion);
      this.board.mark("last", node.path);
      this.drawArrows();
    }
    const dealt = JSON.stringify([table.key, node.id, legal.map(({ move }) => move)]);
    if (dealt !== this.dealt) this.input.setPosition(legal, pieces); // otherwise a man in hand stays there
    this.dealt = dealt;
  }
  tell(node) {
    const outcome = this.table.outcome(), parts = node.parent ? [`${sideName(this.game, this.table.turn(node.parent))}: ${moveName(node)}`] : [];
    if (parts.length) this.app.say([...parts, ...(outcome ? [outcome.text] : [])].join(". "));
    if (parts.length) this.app.sound();
  }

  // A move that was made by hand is on the board at once.
  play(move, motion, fast) {
    this.board.show(after(this.table.pieces(), move.changes), motion, fast);
    Object.assign(this, { moved: move.move, dealt: null });
    this.table.move(move);
  }

  /** Show pieces for a while, as those of an engine's line; null: the position again. */
  preview(pieces, path = []) {
    if (this.editor) return;
    this.svg.classList.toggle("preview", pieces !== null);
    this.board.show(pieces ?? this.table.pieces());
    this.board.mark("last", pieces ? path : this.table.node.path);
    this.drawArrows();
  }

  /** Draw an engine's arrows over the position, or none. */
  point(arrows) {
    this.arrows = arrows;
    this.drawArrows();
  }
  drawArrows() {
    const mine = this.table.node.arrows.map((path) => ({ path, kind: "mine", width: 6 }));
    this.board.arrows(this.editor || this.svg.classList.contains("preview") ? [] : [...this.arrows, ...mine]);
  }

  // An arrow by hand; the same again, or a click on its beginning, takes it away.
  drawArrow(from, to) {
    const { arrows } = this.table.node, rest = arrows.filter(([a, b]) => a !== from || (from !== to && b !== to));
    this.table.annotate({ arrows: rest.length < arrows.length || from === to ? rest : [...arrows, [from, to]] });
    this.drawArrows();
  }

  /** Let an editor of positions have the board, an object with `edit(square, from)`; null: give it back. */
  lend(editor) {
    Object.assign(this, { editor, dealt: null, node: null });
    this.input.editing = editor !== null;
    this.root.classList.toggle("editing", editor !== null);
    this.input.setPosition([], {});
    this.board.mark("last", []);
    this.drawArrows();
    if (!editor) this.show();
  }

  // --- around it ----------------------------------------------------------------------------------------
  drawStrips() {
    const { table } = this, outcome = table.outcome(), playing = table.mode === "play", turn = table.turn();
    SIDES.forEach((side, n) => {
      const { parts } = this.strips[side], gone = this.game.kings ? this.taken(SIDES[1 - n]) : 0;
      parts.name.textContent = this.playerName(side);
      parts.note.replaceChildren(...(playing && outcome?.winner === side ? [icon("crown"), "won"]
        : playing && this.app.referee?.thinking?.side === side ? [el("span.thinking", { role: "img", "aria-label": "thinking" })]
          : gone ? [`${gone} taken`] : []));
      this.strips[side].classList.toggle("to-move", turn === side && !outcome);
    });
    this.tick();
  }

  /** The name of a player as people know it. */
  playerName(side) {
    const { table } = this, playing = table.mode === "play";
    const name = playing ? table.players[side].name : table.headers.find(([tag]) => tag.toLowerCase() === side)?.[1];
    return name && name !== "human" ? name : playing && table.mySide ? "You" : sideName(table.game, side);
  }

  // How many men of a side are gone.
  taken(side) {
    const count = (node) => Object.values(this.table.pieces(node)).filter((letter) => letter.toLowerCase() === side[0]).length;
    return Math.max(0, count(this.table.root) - count());
  }
  tick() {
    const { table } = this, { clock } = table, hidden = !clock || table.mode !== "play";
    for (const side of SIDES) {
      const { clock: shown } = this.strips[side].parts, left = hidden ? 0 : table.left(side), runs = clock?.running === side;
      shown.hidden = hidden;
      shown.textContent = clockText(left);
      shown.classList.toggle("runs", runs);
      shown.classList.toggle("short", runs && left < 20);
    }
  }
  drawValue() {
    const { value } = this.table.node, unknown = value === null;
    this.bar.classList.toggle("unknown", unknown);
    this.fill.style.height = `${100 * (value ?? 0.5)}%`;
    this.bar.setAttribute("aria-label", unknown ? "No value yet" : scoreText(this.game, value));
    this.bar.title = unknown ? "" : percent(value);
  }
}
