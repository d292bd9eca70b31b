// Which move a person means, square by square, among the legal moves that the server sent.

export class MoveSelection {
  /**
   * @param legal moves with their `path`, `captures` and `changes`.
   * @param columns the column of each square, where any square of a column means a move there; else null.
   */
  constructor(legal, columns = null) {
    this.legal = legal;
    this.columns = columns;
    this.clear();
  }

  /** Forget the squares chosen so far. */
  clear() {
    this.prefix = [];
  }

  /** The square of the man that was picked, where it stands now; null before. */
  get at() {
    return this.prefix.at(-1) ?? null;
  }

  /** The moves that fit the squares chosen. */
  get fitting() {
    return this.legal.filter((move) => this.prefix.every((square, i) => move.path[i] === square));
  }

  /** Squares from which a move begins. */
  get starts() {
    return new Set(this.legal.map((move) => move.path[0]));
  }

  /** Squares to which the picked man can hop next. */
  get targets() {
    const at = this.prefix.length;
    return new Set(at ? this.fitting.map((move) => move.path[at]) : []);
  }

  /**
   * Choose a square.
   * @returns {kind, move, from}: "picked" a man, "hop" within a capture, "move" when it is complete, "cleared"
   *   or "nothing"; `from` is how many squares of the path were chosen before.
   */
  choose(square) {
    if (this.columns) square = this.landing(square);
    const from = this.prefix.length;
    if (from) {
      const moves = this.reaching(square);
      if (moves.length) return this.advance(moves[0], moves[0].path.indexOf(square, from), from);
    }
    const single = this.legal.find((move) => move.path.length === 1 && move.path[0] === square);
    if (single) return { kind: "move", move: single, from: 1 };
    const again = square === this.prefix[0] || square === this.prefix[from - 1];
    this.clear();
    if (!again && this.starts.has(square)) {
      this.prefix = [square];
      return { kind: "picked" };
    }
    return { kind: from ? "cleared" : "nothing" };
  }

  /** The moves that lead the picked man over a square: several only if their ways there are the same. */
  reaching(square) {
    const from = this.prefix.length;
    const moves = this.fitting.filter((move) => move.path.indexOf(square, from) >= from);
    const next = moves.filter((move) => move.path[from] === square);
    if (next.length) return next;
    const ways = new Set(moves.map((move) => move.path.slice(0, move.path.indexOf(square, from)).join()));
    return ways.size === 1 ? moves : [];
  }

  advance(move, to, from) {
    this.prefix = move.path.slice(0, to + 1);
    const whole = this.prefix.length === move.path.length;
    if (whole) this.clear();
    return { kind: whole ? "move" : "hop", move, from, to };
  }

  landing(square) {
    const column = this.columns[square];
    return this.legal.find((move) => this.columns[move.path[0]] === column)?.path[0] ?? square;
  }
}
