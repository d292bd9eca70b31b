// What a person does on the board: clicks, drags, keys; and the names of the squares for screen readers.
import { svgElement } from "./board.js";
import { pieceName, t } from "./labels.js";
import { MoveSelection } from "./moveselection.js";

const DRAG = 5; // pixels that make a press a drag

export class MoveInput {
  /**
   * @param board a Board.
   * @param game what the server says of the game.
   * @param moved called with a legal move when it is complete.
   * @param edited called in place of moves while `editing`: with a square, and where a man was dragged from.
   */
  constructor(board, game, moved, edited) {
    this.board = board;
    this.game = game;
    this.moved = moved;
    this.edited = edited;
    this.editing = false;
    this.pieces = {};
    this.focus = board.squares[0];
    const columns = game.columnMoves ? game.layout.cells : null;
    this.columns = columns && Object.fromEntries(board.squares.map((square) => [square, columns[square][1]]));
    this.selection = new MoveSelection([], this.columns);
    this.cells = svgElement("g", { class: "cells", role: "rowgroup" });
    board.svg.append(this.cells);
    const { svg } = board;
    svg.onpointerdown = (event) => this.press(event);
    svg.onpointermove = (event) => this.drag(event);
    svg.onpointerup = (event) => this.release(event);
    svg.onpointercancel = () => this.drop();
    svg.onkeydown = (event) => this.key(event);
    this.placeCells();
  }

  /** Take the legal moves of a new position; the man in hand is put down. */
  setPosition(legal, pieces) {
    this.drop();
    this.selection = new MoveSelection(legal, this.columns);
    this.pieces = pieces;
    this.highlight();
    this.name();
  }

  /** Put back what was picked. */
  cancel() {
    const hopped = this.selection.prefix.length > 1;
    this.drop();
    this.selection.clear();
    if (hopped) this.board.show(this.pieces);
    this.highlight();
  }

  // --- selecting ----------------------------------------------------------------------------------------

  choose(square, dragged = false) {
    const { kind, move, from, to } = this.selection.choose(square);
    if (kind === "move") this.finish(move, from, dragged);
    else if (kind === "hop") {
      const path = move.path.slice(from - 1, to + 1);
      const captures = move.captures.slice(from - 1, to);
      this.board.show(this.midway(move, to), { path, captures }, dragged ? path.length - 1 : 0);
    } else if (kind === "cleared" || kind === "picked") this.board.show(this.pieces);
    this.highlight();
    return kind;
  }

  finish(move, from, dragged) {
    const path = move.path.slice(Math.max(0, from - 1));
    const captures = path.length > 1 ? move.captures.slice(from - 1) : [];
    this.selection = new MoveSelection([], this.columns);
    this.moved(move, { path, captures }, dragged ? path.length - 1 : 0);
  }

  // The pieces while a capture is under way: the men taken so far are off the board.
  midway(move, to) {
    const pieces = { ...this.pieces };
    const letter = pieces[move.path[0]];
    delete pieces[move.path[0]];
    for (const taken of move.captures.slice(0, to)) delete pieces[taken];
    pieces[move.path[to]] = letter;
    return pieces;
  }

  highlight() {
    const { at, targets } = this.selection;
    this.board.mark("chosen", at === null ? [] : [at]);
    this.board.mark("target", [...targets]);
    for (const [square, cell] of this.byName) {
      const ready = this.editing || this.selection.starts.has(square) || targets.has(square) || this.columns;
      cell.classList.toggle("ready", Boolean(ready && (this.editing || this.selection.legal.length)));
      cell.setAttribute("aria-selected", String(square === at));
    }
  }

  // --- pointer ------------------------------------------------------------------------------------------

  point(event) {
    const { a, d, e, f } = this.board.svg.getScreenCTM();
    return [(event.clientX - e) / a, (event.clientY - f) / d];
  }

  press(event) {
    if (event.button !== 0) return;
    const square = this.board.squareAt(...this.point(event));
    if (square === null) {
      this.cancel();
      return;
    }
    event.preventDefault();
    this.move(square);
    const picked = this.selection.at;
    if (!this.editing && this.selection.at !== square && this.choose(square) !== "picked") return;
    this.held = {
      square, start: [event.clientX, event.clientY], man: this.board.men.get(square), again: picked === square,
    };
    this.board.svg.setPointerCapture(event.pointerId);
  }

  drag(event) {
    const { held } = this;
    if (!held?.man) return;
    const [x, y] = held.start;
    if (!held.dragged && Math.hypot(event.clientX - x, event.clientY - y) < DRAG) return;
    if (!held.dragged) {
      held.dragged = true;
      held.man.classList.add("held");
      held.man.parentNode.append(held.man);
    }
    held.man.setAttribute("transform", `translate(${this.point(event).join()})`);
    const over = this.board.squareAt(...this.point(event));
    this.board.mark("over", over !== null && this.selection.targets.has(over) ? [over] : []);
  }

  release(event) {
    const { held } = this;
    if (!held) return;
    const square = this.board.squareAt(...this.point(event));
    this.drop();
    if (this.editing) {
      this.edited(square, held.dragged ? held.square : null);
    } else if (held.dragged) {
      if (square !== null && square !== held.square && this.selection.reaching(square).length) {
        this.choose(square, true);
      } else if (this.selection.prefix.length === 1) this.cancel();
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
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) this.move(this.neighbour(...steps[event.key]), true);
    else if (event.key === "Enter" || event.key === " ") {
      if (this.editing) this.edited(this.focus, null);
      else this.choose(this.focus);
    } else if (event.key === "Escape") this.cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Where a square is seen: its row and column on the screen.
  seen(square) {
    const [row, column] = this.game.layout.cells[square];
    const { rows, columns } = this.game.layout;
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

  move(square, focus = false) {
    this.byName.get(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = square;
    const cell = this.byName.get(square);
    cell.setAttribute("tabindex", "0");
    if (focus) cell.focus();
  }

  /** Lay the cells again, as after a turn of the board. */
  placeCells() {
    this.byName = new Map();
    const rows = Array.from({ length: this.game.layout.rows }, () => []);
    for (const square of this.board.squares) rows[this.seen(square)[0]].push(square);
    this.cells.replaceChildren(...rows.map((squares) => {
      squares.sort((a, b) => this.seen(a)[1] - this.seen(b)[1]);
      return svgElement("g", { role: "row" }, ...squares.map((square) => {
        const cell = this.board.rect(square, "cell");
        cell.setAttribute("role", "gridcell");
        cell.setAttribute("tabindex", square === this.focus ? "0" : "-1");
        cell.addEventListener("focus", () => { this.focus = square; });
        this.byName.set(square, cell);
        return cell;
      }));
    }));
    this.name();
    this.highlight();
  }

  /** Give each square its name. */
  name(pieces = this.pieces) {
    this.pieces = pieces;
    for (const [square, cell] of this.byName) {
      const what = pieceName(this.game, pieces[square]);
      const [row, column] = this.game.layout.cells[square];
      const place = this.game.layout.numbers
        ? t("square", { square }) : t("cell", { row: row + 1, column: column + 1 });
      cell.setAttribute("aria-label", `${place}, ${what}`);
    }
  }
}
