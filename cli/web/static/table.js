// The game on the board: its tree of moves, where one is in it, who plays. It is kept in the browser's storage.
import { advance, after, look, replay, seen } from "./look.js";
import { store, stored } from "./net.js";
import { written } from "./pdn.js";
import { sideName } from "./words.js";

const PREFIX = "ckai-tree-", MOST_GAMES = 60, PAUSE = 150; // milliseconds between a change and the storage
const HUMAN = { spec: "human", name: "human" }, SIDES = ["black", "white"];
const KEPT = ["key", "version", "start", "mode", "players", "control", "ended", "headers", "result", "file", "touched", "interrupted", "from"];
const NOTES = ["comment", "nags", "value", "arrows", "clock"], STEP = ["move", "path", "changes"];
const picked = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));
const walk = (node) => [node, ...node.children.flatMap(walk)]; // the node and all after it, in order
const other = (side) => (side === "black" ? "white" : "black");
const today = () => new Date().toISOString().slice(0, 10).replaceAll("-", ".");

/** The games in this browser, the newest first. */
export function storedGames() {
  let names = [];
  try {
    names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  } catch { /* switched off */ }
  return names.map((name) => stored(name)).filter(Boolean).sort((a, b) => b.updated - a.updated);
}

/** Tells of "state" (anything has changed), "values" (only values of nodes have) and "saved". */
export class Table extends EventTarget {
  constructor(games) {
    super();
    Object.assign(this, { games, fresh: 0, made: 0 });
    this.analyse(games[0]);
    addEventListener("pagehide", () => this.store());
    addEventListener("storage", ({ key, newValue }) => { // another tab has played on
      const data = key === PREFIX + this.key ? JSON.parse(newValue) : null;
      if (data && data.version > this.version) this.restore(data, true);
      else this.file = data?.file ?? this.file;
    });
  }
  on(type, listener) { this.addEventListener(type, (event) => listener(event.detail)); }
  tell(type, detail = {}) { this.dispatchEvent(new CustomEvent(type, { detail })); }
  gameNamed(name) { return this.games.find((each) => each.name === name) ?? this.games[0]; }

  // --- beginning ----------------------------------------------------------------------------------------
  reset(game, start, fields) {
    this.store();
    for (const old of storedGames().slice(MOST_GAMES)) store(PREFIX + old.key, null);
    const key = Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(36)).join("").slice(0, 12);
    Object.assign(this, { game, start, key, version: 0, mode: "analysis", players: { black: HUMAN, white: HUMAN },
      control: null, clock: null, ended: null, headers: [], result: "*", file: null, touched: 0, interrupted: false, from: "",
      problem: "", puzzle: false }, fields);
    const step = { move: "", path: [], changes: {} };
    this.root = this.node = this.current = this.begin = this.make(null, step, game.rules ? replay(start)[0] : null);
  }

  /** Look at a game from its first position, or from another one given as text. */
  analyse(game, start = "") {
    this.reset(game, start, { headers: [["Event", "ckai board, analysis"], ["Date", today()]] });
    this.changed();
  }

  /** Begin a game at the node shown (`here`), or after some moves. */
  play(game, players, control, { here = false, moves = [] } = {}) {
    const steps = here ? this.path().slice(1) : moves, start = here ? this.start : "";
    const headers = [["Event", "ckai board"], ["Date", today()], ["Black", players.black.name], ["White", players.white.name]];
    if (control) headers.push(["TimeControl", `${control.seconds}s${control.increment ? `+${control.increment}s` : ""}`]);
    this.reset(game, start, { mode: "play", players, control, headers,
      clock: control && { black: control.seconds, white: control.seconds, running: null, since: 0 } });
    for (const each of steps) this.node = this.add(this.node, each);
    this.begin = this.current = this.node;
    this.changed();
  }

  /** The same players from the same position again. */
  rematch(swap) {
    const { game, control, players: { black, white } } = this;
    this.node = this.begin;
    this.play(game, swap ? { black: white, white: black } : { black, white }, control, { here: true });
  }

  /** Open a game that the server has read. */
  open(read, fields = {}) {
    const headers = read.headers.filter(([name]) => !["result", "setup", "fen", "gametype", "game"].includes(name.toLowerCase()));
    this.reset(this.gameNamed(read.game), read.start, { headers, result: read.result, problem: read.problem, ...fields });
    this.root.comment = (read.comments ?? []).join(" ");
    this.addLine(this.root, read.line);
    this.changed();
  }

  // The moves of a line, then the variations: one of them may begin with a move of the line itself.
  addLine(node, line, before = []) {
    const later = [];
    for (const { comments = [], nags = [], variations = [], ...step } of line) {
      later.push(...variations.map((each) => [node, each]));
      node = this.add(node, step.path ? step : step.move);
      node.comment = [node.comment, ...before.splice(0), ...comments].filter(Boolean).join(" ");
      node.nags = [...new Set([...node.nags, ...nags])];
    }
    for (const [parent, each] of later) this.addLine(parent, each.line, each.comments);
  }

  /** Whether nothing has been played, set up or loaded yet. */
  get empty() { return this.mode === "analysis" && !this.start && !this.root.children.length; }

  // --- the tree -----------------------------------------------------------------------------------------
  make(parent, step, position = null) {
    const node = { id: this.made++, parent, children: [], comment: "", nags: [], value: null, arrows: [], captures: [], ...step, position };
    node.ply = parent ? parent.ply + 1 : 0;
    parent?.children.push(node);
    return node;
  }

  /** The node after a move: a step, or its text in checkers. */
  add(parent, move) {
    const text = move.move ?? move, known = parent.children.find((each) => each.move === text);
    if (known) return known;
    if (this.game.rules) {
      const { step, position } = advance(parent.position, text);
      return step.move === text ? this.make(parent, step, position) : this.add(parent, step.move);
    }
    return this.make(parent, picked(move, STEP));
  }
  path(node = this.node) {
    const nodes = [];
    for (let each = node; each; each = each.parent) nodes.unshift(each);
    return nodes;
  }
  moves(node = this.node) { return this.path(node).slice(1).map(({ move }) => move); }

  /** The nodes from the first to the one shown and on along its main continuation; in a game, up to its end. */
  get line() {
    const nodes = this.path();
    while (nodes.at(-1).children.length && !(this.mode === "play" && nodes.at(-1) === this.current)) nodes.push(nodes.at(-1).children[0]);
    return nodes;
  }
  pieces(node = this.node) {
    if (node.position) return this.look(node).pieces;
    node.pieces ??= node.parent ? after(this.pieces(node.parent), node.changes) : null;
    return node.pieces ?? {};
  }

  /** What is to be seen at a node; null while the server is asked, which leads to a "state". */
  look(node = this.node) {
    if (node.look || this.game.rules) return (node.look ??= seen(this.path(node).map(({ position }) => position)));
    node.asked ??= look(this.game, this.start, this.moves(node)).then((found) => {
      Object.assign(node, { look: found, pieces: found.pieces });
      this.tell("state");
    });
    return null;
  }

  /** The side to move at a node. */
  turn(node = this.node) {
    if (node.position) return node.position.black ? "black" : "white";
    return this.look(node)?.turn ?? (node.parent ? other(this.turn(node.parent)) : "black");
  }

  /** The number of a node's move: `3.` for the first player's, `3...` for the second's. */
  number(node) {
    const black = this.turn(node.parent) === "black", count = (black === (node.ply % 2 === 1) ? node.ply - 1 : node.ply) >> 1;
    return `${count + 1}.${black ? "" : ".."}`;
  }

  /** The name of the opening that the moves to a node begin with, or "". */
  opening(node = this.node) {
    const moves = this.moves(node), fits = Object.entries(this.game.openings).filter(([, line]) => line.every((move, i) => moves[i] === move));
    return this.start ? "" : fits.sort((a, b) => b[1].length - a[1].length)[0]?.[0] ?? "";
  }

  // --- the game that is played --------------------------------------------------------------------------
  human(side) { return this.players[side].spec === "human"; }

  /** The side that a person plays alone, or null. */
  get mySide() { return this.human("black") === this.human("white") ? null : SIDES.find((side) => this.human(side)); }
  outcome(node = this.mode === "play" ? this.current : this.node) {
    return (node === this.current && this.mode === "play" ? this.ended : null) ?? this.look(node)?.outcome ?? null;
  }
  get goingOn() { return this.mode === "play" && this.look(this.current) !== null && !this.outcome(); }

  /** The moves that may be played on the board now. */
  get legal() {
    const mine = this.mode !== "play" || (this.node === this.current && !this.ended && this.human(this.turn()));
    return (mine && this.look()?.legal) || [];
  }

  /** The seconds left on a clock. */
  left(side) {
    const { clock } = this;
    return Math.max(0, clock[side] - (clock.running === side ? (Date.now() - clock.since) / 1000 : 0));
  }

  /** Let the clock of a side run, or none. */
  run(side) {
    const { clock } = this;
    if (!clock || clock.running === side) return;
    if (clock.running) clock[clock.running] = this.left(clock.running);
    Object.assign(clock, { running: side, since: Date.now() });
  }

  /** Play a move: in a game for the side to move, else as a variation of the node shown. */
  move(step) {
    const playing = this.mode === "play", at = playing ? this.current : this.node, known = at.children.length, side = this.turn(at);
    if (playing && this.clock) {
      at.clock = SIDES.map((each) => this.left(each));
      this.run(null);
      this.clock[side] += this.control.increment;
    }
    const node = this.add(at, step);
    if (playing) {
      this.toFront(node);
      Object.assign(this, { node: this.node === at || this.human(side) ? node : this.node, current: node });
    } else {
      this.node = node;
      if (at.children.length > known) this.touched += known ? 10 : 1;
    }
    this.changed();
  }
  get canUndo() { return this.mode === "play" && Boolean(this.ended || this.undoTarget()); }

  // The node before the last move of a person, null if the game begins after it.
  undoTarget() {
    let node = this.current.parent;
    while (node && !this.human(this.turn(node))) node = node.parent;
    return node && node.ply >= this.begin.ply ? node : null;
  }

  /** Take back a person's last move and all after it; an end that no engine has brought about, alone. */
  undo() {
    const target = this.undoTarget(), { ended, clock } = this;
    this.ended = null;
    if (target && (!ended || ended.engine)) this.current = target;
    this.run(null);
    if (clock && this.current.clock) [clock.black, clock.white] = this.current.clock;
    for (const side of clock ? SIDES : []) clock[side] = Math.max(clock[side], 10); // the time may have been up
    this.node = this.current;
    this.changed();
  }

  /** End the game that is played: a side wins, or null for a draw. */
  end(winner, why, fields = {}) {
    this.run(null);
    const result = { black: "1-0", white: "0-1" }[winner] ?? "1/2-1/2";
    this.ended = { text: `${winner ? `${sideName(this.game, winner)} won` : "drawn"}: ${why} (${result})`, result, winner, ...fields };
    this.changed();
  }

  /** Turn from playing to analysis; an unfinished game can be resumed. */
  interrupt() {
    if (this.mode !== "play") return;
    const outcome = this.outcome();
    Object.assign(this, { interrupted: !outcome, result: outcome?.result ?? "*", mode: "analysis" });
    this.run(null);
    this.changed();
  }
  resume() {
    Object.assign(this, { mode: "play", interrupted: false, node: this.current });
    this.toFront(this.current);
    this.changed();
  }

  // --- looking and annotating ---------------------------------------------------------------------------
  go(node) {
    if (!node || node === this.node) return;
    this.node = node;
    this.tell("state");
    this.storeSoon();
  }
  step(by) {
    const { line } = this, at = line.indexOf(this.node);
    this.go({ first: line[0], last: line.at(-1), back: line[at - 1], next: line[at + 1] }[by]);
  }
  toFront(node) {
    for (let each = node; each.parent; each = each.parent) {
      const { children } = each.parent;
      children.unshift(...children.splice(children.indexOf(each), 1));
    }
  }

  /** Change the comment, the signs or the arrows of the node shown. */
  annotate(fields) {
    Object.assign(this.node, fields);
    if (!fields.arrows) this.touched += 10;
    this.changed();
  }
  promote() {
    this.toFront(this.node);
    this.annotate({});
  }

  /** Remove the node shown and all after it; not moves of a game in progress. Returns whether it is gone. */
  remove() {
    const { node } = this, { parent } = node, played = this.path(this.current).includes(node);
    if (this.interrupted && played) return false;
    parent.children.splice(parent.children.indexOf(node), 1);
    Object.assign(this, { node: parent, current: played ? parent : this.current });
    this.annotate({});
    return true;
  }

  /** Note the value of a node: the expected score of the first player, 0 to 1. */
  judge(node, value) {
    if (value === null || value === undefined) return;
    node.value = value;
    this.tell("values");
    this.storeSoon(10 * PAUSE);
  }

  // --- keeping ------------------------------------------------------------------------------------------
  changed() {
    this.fresh++;
    this.version++;
    this.tell("state");
    this.storeSoon();
  }
  storeSoon(pause = PAUSE) { this.timer ??= setTimeout(() => this.store(), pause); }

  /** Keep the game in the browser's storage, unless there is nothing to keep. */
  store() {
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.root || this.empty || this.puzzle) return;
    const there = stored(PREFIX + this.key);
    if (there?.version > this.version) return this.restore(there, true); // another tab has played on
    const { game, clock } = this, names = game.rules ? ["move", ...NOTES] : [...STEP, ...NOTES], nodes = walk(this.root);
    const data = { ...picked(this, KEPT), game: game.name, updated: Date.now(),
      at: [this.node, this.current, this.begin].map((each) => nodes.indexOf(each)),
      nodes: nodes.map((each) => ({ ...picked(each, names), parent: nodes.indexOf(each.parent) })),
      clock: clock && { black: this.left("black"), white: this.left("white"), running: null, since: 0 } };
    if (store(PREFIX + this.key, data)) return;
    for (const old of storedGames().slice(5)) store(PREFIX + old.key, null); // the storage is full
    store(PREFIX + this.key, data);
  }

  /** Continue a game of the storage; another tab that has it saves it, too. */
  restore(data, elsewhere = false) {
    clearTimeout(this.timer);
    if (elsewhere) this.root = null; // what is shown is old: it is not stored
    this.reset(this.gameNamed(data.game), data.start, { ...picked(data, KEPT), clock: data.clock });
    const nodes = [];
    for (const each of data.nodes) {
      nodes.push(Object.assign(nodes.length ? this.add(nodes[each.parent], each.path ? each : each.move) : this.root, picked(each, NOTES)));
    }
    [this.node, this.current, this.begin] = data.at.map((n) => nodes[n] ?? this.root);
    this.fresh++;
    if (elsewhere) this.elsewhere = this.fresh;
    this.tell("state");
  }

  /** The game as PDN; while it is played, to its last move. */
  pdn() { return written(this); }
}
