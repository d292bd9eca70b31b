// What a person does on the board: clicks, drags, keys, arrows; and the names of the squares for screen readers.
import { svgElement } from "./board.js";
import { pieceName } from "./words.js";

const DRAG = 5; // pixels that make a press a drag
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class MoveInput {
  /**
   * @param hands {moved, edited, pointed}: called with a legal move when it is complete, how it was made and how many of its
   *   hops were dragged; in place of moves while `editing`, with a square and where a man was dragged from; and with two
   *   squares when an arrow is drawn, with the right button or while `drawing`.
   */
  constructor(board, game, hands) {
    Object.assign(this, { board, game, hands, editing: false, drawing: false, legal: [], prefix: [], pieces: {}, held: null });
    [this.focus] = board.squares;
    const { cells } = game.layout; // where any square of a column means a move there, the column of each square
    this.columns = game.columnMoves ? Object.fromEntries(board.squares.map((square) => [square, cells[square][1]])) : null;
    this.cells = svgElement("g", { class: "cells", role: "rowgroup" });
    const { svg } = board;
    svg.append(this.cells);
    svg.onpointerdown = (event) => this.press(event);
    svg.onpointermove = (event) => this.drag(event);
    svg.onpointerup = (event) => this.release(event);
    svg.onpointercancel = () => this.drop();
    svg.onkeydown = (event) => this.key(event);
    svg.oncontextmenu = (event) => event.preventDefault();
    this.placeCells();
  }

  /** Take the legal moves of a new position; the man in hand is put down. */
  setPosition(legal, pieces) {
    this.drop();
    Object.assign(this, { legal, pieces, prefix: [] });
    this.draw();
  }

  // --- which move is meant, square by square: `prefix` has those chosen so far --------------------------
  get at() { return this.prefix.at(-1) ?? null; }
  get fitting() { return this.legal.filter(({ path }) => this.prefix.every((square, i) => path[i] === square)); }
  get targets() { return new Set(this.prefix.length ? this.fitting.map(({ path }) => path[this.prefix.length]) : []); }

  // The moves that lead the picked man over a square: several only if their ways there are the same.
  reaching(square) {
    const from = this.prefix.length, moves = this.fitting.filter(({ path }) => path.indexOf(square, from) >= from);
    const next = moves.filter(({ path }) => path[from] === square);
    const ways = new Set(moves.map(({ path }) => path.slice(0, path.indexOf(square, from)).join()));
    return next.length ? next : ways.size === 1 ? moves : [];
  }

  /** Choose a square: pick a man, hop, or complete a move. Returns whether a man was picked. */
  choose(square, dragged = false) {
    if (this.columns) square = this.legal.find(({ path }) => this.columns[path[0]] === this.columns[square])?.path[0] ?? square;
    const from = this.prefix.length, [move] = from ? this.reaching(square) : [];
    const single = !move && this.legal.find(({ path }) => path.length === 1 && path[0] === square);
    if (move || single) this.advance(move || single, move ? move.path.indexOf(square, from) : 0, from, dragged);
    else {
      const again = square === this.prefix[0] || square === this.at;
      this.prefix = !again && this.legal.some(({ path }) => path[0] === square) ? [square] : [];
      if (from || this.prefix.length) this.board.show(this.pieces);
    }
    this.draw();
    return this.prefix.length === 1;
  }

  // The picked man moves on to a square of a move; a man that must jump on waits there.
  advance(move, to, from, dragged) {
    const path = move.path.slice(Math.max(0, from - 1), to + 1), captures = from ? move.captures.slice(from - 1, to) : [];
    const motion = { path, captures }, fast = dragged ? path.length - 1 : 0;
    this.prefix = move.path.slice(0, to + 1);
    if (to === move.path.length - 1) {
      Object.assign(this, { legal: [], prefix: [] });
      this.hands.moved(move, motion, fast);
      return;
    }
    const pieces = { ...this.pieces, [move.path[to]]: this.pieces[move.path[0]] };
    for (const gone of [move.path[0], ...move.captures.slice(0, to)]) if (gone !== move.path[to]) delete pieces[gone];
    this.board.show(pieces, motion, fast);
  }
  cancel() {
    this.drop();
    if (this.prefix.length > 1) this.board.show(this.pieces);
    this.prefix = [];
    this.draw();
  }

  /** Mark the squares that can be chosen, and give each square its name. */
  draw(pieces = this.pieces) {
    const { at, targets, editing, legal, game: { layout } } = this, starts = new Set(legal.map(({ path }) => path[0]));
    this.pieces = pieces;
    this.board.mark("chosen", at === null ? [] : [at]);
    this.board.mark("target", [...targets]);
    for (const [square, cell] of this.byName) {
      const ready = starts.has(square) || targets.has(square) || (this.columns && legal.length), [row, column] = layout.cells[square];
      const place = layout.numbers ? `square ${square}` : `column ${column + 1}, row ${row + 1}`;
      cell.classList.toggle("ready", Boolean(editing || ready));
      cell.setAttribute("aria-selected", String(square === at));
      cell.setAttribute("aria-label", `${place}, ${pieceName(this.game, pieces[square])}`);
    }
  }

  // --- pointer ------------------------------------------------------------------------------------------
  point({ clientX, clientY }) {
    const { a, d, e, f } = this.board.svg.getScreenCTM();
    return [(clientX - e) / a, (clientY - f) / d];
  }
  press(event) {
    const square = this.board.squareAt(...this.point(event)), { button, pointerId, clientX, clientY } = event;
    if (!this.editing && square !== null && (button === 2 || (this.drawing && button === 0))) this.held = { arrow: square };
    else if (button !== 0) return;
    else if (square === null) return void this.cancel();
    else {
      const again = this.at === square;
      this.focusOn(square);
      if (!this.editing && !again && !this.choose(square)) return void event.preventDefault();
      this.held = { square, start: [clientX, clientY], man: this.board.men.get(square), again };
    }
    event.preventDefault();
    this.board.svg.setPointerCapture(pointerId);
  }
  drag(event) {
    const { held } = this;
    if (!held?.man) return;
    const [x, y] = held.start, place = this.point(event), over = this.board.squareAt(...place);
    if (!held.dragged && Math.hypot(event.clientX - x, event.clientY - y) < DRAG) return;
    if (!held.dragged) held.man.parentNode.append(held.man);
    held.dragged = true;
    held.man.classList.add("held");
    held.man.setAttribute("transform", `translate(${place.join()})`);
    this.board.mark("over", over !== null && this.targets.has(over) ? [over] : []);
  }
  release(event) {
    const { held } = this, square = this.board.squareAt(...this.point(event));
    if (!held) return;
    this.drop();
    if (held.arrow !== undefined) {
      if (square !== null) this.hands.pointed(held.arrow, square);
    } else if (this.editing) this.hands.edited(square, held.dragged ? held.square : null);
    else if (held.dragged) {
      if (square !== null && square !== held.square && this.reaching(square).length) this.choose(square, true);
      else if (this.prefix.length === 1) this.cancel();
    } else if (held.again) this.cancel();
  }

  // Let go of a man: it stands on its square again.
  drop() {
    const { held } = this;
    this.held = null;
    this.board.mark("over", []);
    if (!held?.dragged) return;
    held.man.classList.remove("held");
    held.man.setAttribute("transform", `translate(${this.board.center(held.square).join()})`);
  }

  // --- keys and names -----------------------------------------------------------------------------------
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (STEPS[event.key]) this.focusOn(this.neighbour(...STEPS[event.key]), true);
    else if (event.key === "Escape") this.cancel();
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (this.editing) this.hands.edited(this.focus, null);
    else this.choose(this.focus);
    event.preventDefault();
    event.stopPropagation();
  }

  // Where a square is seen: its row and column on the screen.
  seen(square) {
    const { rows, columns, cells } = this.game.layout, [row, column] = cells[square];
    return this.board.flipped ? [rows - 1 - row, columns - 1 - column] : [row, column];
  }
  neighbour(down, right) {
    const [row, column] = this.seen(this.focus);
    const near = this.board.squares.filter((square) => {
      const [r, c] = this.seen(square);
      return down ? r === row + down && Math.abs(c - column) <= 1 : r === row && (c - column) * right > 0;
    });
    const far = (square) => {
      const c = this.seen(square)[1];
      return Math.abs(c - column) + (row % 2 ? 0.1 : -0.1) * (c - column); // straight up, zigzag
    };
    return near.length ? near.reduce((best, each) => (far(each) < far(best) ? each : best)) : this.focus;
  }
  focusOn(square, now = false) {
    this.byName.get(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = square;
    this.byName.get(square).setAttribute("tabindex", "0");
    if (now) this.byName.get(square).focus();
  }

  /** Lay the cells again, as after a turn of the board. */
  placeCells() {
    this.byName = new Map();
    const rows = Array.from({ length: this.game.layout.rows }, () => []);
    for (const square of this.board.squares) rows[this.seen(square)[0]].push(square);
    this.cells.replaceChildren(...rows.map((squares) => svgElement("g", { role: "row" },
      ...squares.sort((a, b) => this.seen(a)[1] - this.seen(b)[1]).map((square) => {
        const cell = this.board.rect(square, "cell");
        cell.setAttribute("role", "gridcell");
        cell.setAttribute("tabindex", square === this.focus ? "0" : "-1");
        cell.addEventListener("focus", () => { this.focus = square; });
        this.byName.set(square, cell);
        return cell;
      }))));
    this.draw();
  }
}
