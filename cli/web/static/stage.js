// The board with what stands around it: the players, their clocks, the value bar.
import { Board } from "./board.js";
import { el, icon } from "./dom.js";
import { moveName, pointsText, sideName, t } from "./labels.js";
import { MoveInput } from "./moveinput.js";
import { after } from "./table.js";

export class Stage {
  /** @param app the page: its table, and `say`, `fail` for messages. */
  constructor(app, root) {
    this.app = app;
    this.table = app.table;
    this.flipped = false;
    this.editor = null; // takes over the board while positions are set up
    this.pending = null; // a move that is shown before the server has confirmed it
    this.shown = null; // the node on the board
    this.arrows = [];
    this.strips = { black: this.strip("black"), white: this.strip("white") };
    this.fill = el("div.fill");
    this.percent = el("span.percent");
    this.bar = el("div.value-bar", { role: "img" }, this.fill, this.percent);
    this.frame = el("div.frame-of-board");
    this.field = el("div.playing-field", {}, this.bar, this.frame);
    root.append(this.field);
    this.root = root;
    this.table.on("state", () => this.update());
    this.table.on("search", () => this.drawValue());
    this.table.on("values", () => this.drawValue());
    setInterval(() => this.tick(), 100);
  }

  // --- the board ----------------------------------------------------------------------------------------

  build() {
    const { game } = this.table;
    this.game = game;
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("class", `board on-stage ${game.name}`);
    this.svg.setAttribute("role", "grid");
    this.svg.setAttribute("aria-label", t("board of", { game: game.title }));
    this.frame.replaceChildren(this.svg);
    if (game.columnLabels.length) {
      this.frame.append(el("div.columns", { "aria-hidden": "true" },
        ...game.columnLabels.map((text) => el("span", {}, text))));
    }
    this.board = new Board(this.svg, game.layout, game.pieceLetters);
    this.input = new MoveInput(this.board, game, (...move) => this.play(...move), (...edit) => this.editor?.edit(...edit));
    this.shown = this.pending = null;
    this.seat();
  }

  /** Draw the state that has come. */
  update() {
    const { state } = this.table;
    if (this.game?.name !== state.game) this.build();
    if (state.tree !== this.tree) { // the numbers of nodes mean others now
      this.tree = state.tree;
      this.shown = this.pending = this.dealt = null;
    }
    if (state.nodes) {
      const beginning = JSON.stringify([state.game, state.start.fen, state.nodes[0].id, state.players]);
      if (beginning !== this.beginning) this.seat();
      this.beginning = beginning;
    }
    if (!this.editor) this.showState();
    this.drawStrips();
    this.drawValue();
  }

  // A person's own side is below.
  seat() {
    const below = this.table.mySide ?? "white";
    if (this.game.turnable) this.turn(below === "black");
    else this.turn(false);
  }

  turn(flipped) {
    this.flipped = flipped;
    if (this.board && this.board.flipped !== flipped) {
      this.board.flip();
      this.input.placeCells();
    }
    this.bar.classList.toggle("flipped", flipped);
    const above = flipped ? "white" : "black";
    this.root.replaceChildren(this.strips[above], this.field, this.strips[above === "black" ? "white" : "black"]);
  }

  /** Turn the board around. */
  flip() {
    this.turn(!this.flipped);
  }

  showState() {
    const { state, node } = this.table;
    const { pending } = this;
    if (pending && !pending.settled && state.node === pending.from) return; // not yet confirmed
    const motion = this.motionTo(node);
    this.pending = null;
    if (this.shown !== node.id || state.nodes || pending) {
      if (this.shown !== node.id) this.tell(node);
      this.shown = node.id;
      this.board.show(state.pieces, motion);
      this.board.mark("last", node.path);
      this.board.arrows(this.arrows);
    }
    const dealt = JSON.stringify([node.id, state.legal.map((each) => each.move)]);
    if (dealt === this.dealt) return; // a man in hand stays there
    this.dealt = dealt;
    this.input.setPosition(state.legal, state.pieces);
  }

  // The move to animate from the position on the board to a node, one ply on or back; null: none.
  motionTo(node) {
    const { nodes } = this.table;
    const { pending } = this;
    const isPending = (each) => pending && each?.parent === pending.from && each.move === pending.move;
    if (isPending(node)) return null; // it is on the board
    if (this.shown === node.parent || isPending(nodes.get(node.parent))) return node.path.length ? node : null;
    const shown = nodes.get(this.shown);
    if (shown?.parent !== node.id || shown.path.length < 2) return null;
    return { path: [...shown.path].reverse(), captures: [] };
  }

  tell(node) {
    const { state } = this.table;
    const parts = [];
    if (node.path.length) parts.push(`${sideName(this.game, node.side)}: ${moveName(this.game, node)}`);
    if (state.outcome) parts.push(state.outcome.text);
    if (parts.length) this.app.say(parts.join(". "));
  }

  // A move is on the board at once; the server confirms it or it is put back.
  async play(move, motion, fast) {
    const { state } = this.table;
    const pending = { from: state.node, move: move.move, settled: false };
    this.pending = pending;
    this.dealt = null;
    const pieces = after(state.pieces, move.changes);
    this.board.show(pieces, motion, fast);
    this.board.mark("last", move.path);
    this.board.arrows([]);
    this.input.setPosition([], pieces);
    try {
      await this.table.ask("play", { move: move.move, node: state.node });
      pending.settled = true;
    } catch (error) {
      if (this.pending === pending) {
        this.pending = null;
        this.shown = null;
        this.showState();
      }
      this.app.fail(error);
    }
  }

  /** Show pieces for a while, as those of an engine's line; null: the position again. */
  preview(pieces, path = []) {
    if (this.editor || this.pending) return;
    this.svg.classList.toggle("preview", pieces !== null);
    this.board.show(pieces ?? this.table.state.pieces);
    this.board.mark("last", pieces ? path : this.table.node.path);
    this.board.arrows(pieces ? [] : this.arrows);
  }

  /** Draw arrows over the position, or none. */
  point(arrows) {
    this.arrows = arrows;
    if (!this.svg?.classList.contains("preview") && !this.pending) this.board?.arrows(arrows);
  }

  /** Let an editor of positions have the board, an object with `pieces` and `edit(square, from)`; null: give it back. */
  lend(editor) {
    this.editor = editor;
    if (!this.board) return;
    this.input.editing = editor !== null;
    this.root.classList.toggle("editing", editor !== null);
    this.input.setPosition([], {});
    this.dealt = this.shown = null;
    if (editor) {
      this.board.mark("last", []);
      this.board.arrows([]);
    } else if (this.table.state) this.showState();
  }

  // --- around it ----------------------------------------------------------------------------------------

  strip(side) {
    const parts = {
      dot: el("span.dot", { class: side }), name: el("span.name"), note: el("span.note"), clock: el("span.clock"),
    };
    const strip = el("div.strip", {}, parts.dot, parts.name, parts.note, parts.clock);
    strip.parts = parts;
    return strip;
  }

  drawStrips() {
    const { state } = this.table;
    for (const side of ["black", "white"]) {
      const { parts } = this.strips[side];
      const other = side === "black" ? "white" : "black";
      parts.name.textContent = playerName(this.table, side);
      const won = state.outcome?.winner === side && state.mode === "play";
      const thinks = state.thinking === side && state.mode === "play";
      const lead = this.game.kings ? taken(state, other) : 0;
      parts.note.replaceChildren(...(won ? [icon("crown"), t("won")]
        : thinks ? [el("span.thinking", { "aria-label": t("thinking") }, "")]
          : lead ? [t("captured", { n: lead })] : []));
      this.strips[side].classList.toggle("to-move", state.turn === side && !state.outcome);
    }
    this.tick();
  }

  tick() {
    const { state } = this.table;
    if (!state) return;
    for (const side of ["black", "white"]) {
      const { clock } = this.strips[side].parts;
      clock.hidden = !state.clocks || state.mode !== "play";
      if (clock.hidden) continue;
      const runs = state.clocks.running === side;
      const gone = runs ? (performance.now() - this.table.receivedAt) / 1000 : 0;
      const left = Math.max(0, state.clocks[side] - gone);
      const text = clockText(left);
      if (clock.textContent !== text) clock.textContent = text;
      clock.classList.toggle("runs", runs);
      clock.classList.toggle("short", runs && left < 20);
    }
  }

  drawValue() {
    const { state, search } = this.table;
    const points = state.verdict?.black ?? search?.black ?? this.table.points(state.node);
    this.bar.classList.toggle("unknown", points === null || points === undefined);
    const black = points ?? 0.5;
    this.fill.style.height = `${100 * black}%`;
    this.percent.textContent = points === null || points === undefined ? "" : Math.round(100 * black);
    this.bar.setAttribute("aria-label", points === null || points === undefined
      ? t("no value") : pointsText(this.game ?? this.table.game, black));
  }
}

/** Return the name of a player as people know it. */
export function playerName(table, side) {
  const { state } = table;
  if (state.mode === "analysis") {
    const header = side === "black" ? "Black" : "White";
    const found = state.headers.find(([name]) => name === header);
    return found?.[1] && found[1] !== "human" ? found[1] : sideName(table.game, side);
  }
  const { name, human } = state.players[side];
  return human && name === "human" ? (table.mySide ? t("you") : sideName(table.game, side)) : name;
}

// How many men of a side are gone.
function taken(state, side) {
  const count = (pieces) => Object.values(pieces).filter((letter) => letter.toLowerCase() === side[0]).length;
  return Math.max(0, count(state.start.pieces) - count(state.pieces));
}

function clockText(left) {
  if (left < 10) return left.toFixed(1);
  const whole = Math.floor(left), minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
