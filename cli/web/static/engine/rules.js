// The rules of English draughts, as `ckai.game` has them.
//
// Inside, boards are three sets of 32 bits in the mover's view: the side to move plays from bit 0 towards bit 31,
// and the board is turned when the turn passes. A capture is made of hops; action = index * 4 + direction
// (0 up-right, 1 down-right, 2 down-left, 3 up-left, row 0 at the top). Outside, squares are PDN's 1..32.

const EVEN = 0x0f0f0f0f, ODD = 0xf0f0f0f0 | 0, NOT_LEFT = 0xeeeeeeee | 0, NOT_RIGHT = 0x77777777;
const EVEN_RIGHT = EVEN & NOT_RIGHT, ODD_LEFT = ODD & NOT_LEFT, LAST_ROW = 0xf0000000 | 0, FIRST_ROW = 0xf;

export const HALFMOVE_LIMIT = 80, REPETITION_LIMIT = 3, MAX_CLOCK = 32767;

// --- hops: the kernels that a search uses as well -------------------------------------------------------------------

/** Longest path of positions in a search; what follows is room for the functions below. */
export const MAX_PATH = 512;
export const HERE = MAX_PATH, ROOM = MAX_PATH + 16;

/** Positions by number. SIDE: 1 + the index of the piece that must jump on, or 0; its bit 30: Black is to move. */
export const OWN = new Int32Array(ROOM), OPP = new Int32Array(ROOM), KINGS = new Int32Array(ROOM);
export const SIDE = new Int32Array(ROOM), CLOCK = new Int32Array(ROOM);
export const BLACK = 1 << 30, JUMPER = 63;
/** The legal actions at each, `LEGAL` places apart. */
export const LEGAL = 64, ACTIONS = new Uint8Array(ROOM * LEGAL);

function neighbour(index, direction, distance) {
  const row = index >> 2, file = 2 * (index & 3) + (row % 2 ? 0 : 1);
  const toRow = row + (direction === 1 || direction === 2 ? distance : -distance);
  const toFile = file + (direction < 2 ? distance : -distance);
  return toRow < 0 || toRow > 7 || toFile < 0 || toFile > 7 ? -1 : toRow * 4 + (toFile >> 1);
}
const STEP_TO = Int8Array.from({ length: 128 }, (_, action) => neighbour(action >> 2, action & 3, 1));
const JUMP_TO = Int8Array.from({ length: 128 }, (_, action) => neighbour(action >> 2, action & 3, 2));

export const upRight = (x) => ((x & EVEN_RIGHT) >>> 3) | ((x & ODD) >>> 4);
const downRight = (x) => ((x & EVEN_RIGHT) << 5) | ((x & ODD) << 4);
const downLeft = (x) => ((x & EVEN) << 4) | ((x & ODD_LEFT) << 3);
export const upLeft = (x) => ((x & EVEN) >>> 4) | ((x & ODD_LEFT) >>> 5);

function rotate(x) {
  x = ((x >>> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  x = ((x >>> 2) & 0x33333333) | ((x & 0x33333333) << 2);
  x = ((x >>> 4) & EVEN) | ((x & EVEN) << 4);
  x = ((x >>> 8) & 0x00ff00ff) | ((x & 0x00ff00ff) << 8);
  return (x >>> 16) | (x << 16);
}

/** Write the legal actions at `at`, ascending, into `ACTIONS`; return their number, negative if they jump. */
export function legalHops(at) {
  const own = OWN[at], opp = OPP[at], empty = ~(own | opp), jumper = SIDE[at] & JUMPER;
  const movers = jumper ? 1 << (jumper - 1) : own, crowned = movers & KINGS[at];
  let b = movers & upLeft(opp & upLeft(empty)), c = movers & upRight(opp & upRight(empty));
  let a = crowned && crowned & downLeft(opp & downLeft(empty));
  let d = crowned && crowned & downRight(opp & downRight(empty));
  const begin = at * LEGAL, jumps = (a | b | c | d) !== 0;
  if (!jumps) {
    b = movers & upLeft(empty), c = movers & upRight(empty);
    a = crowned && crowned & downLeft(empty), d = crowned && crowned & downRight(empty);
  }
  let n = begin;
  for (let rest = a | b | c | d; rest; rest &= rest - 1) {
    const bit = rest & -rest, action = (31 - Math.clz32(bit)) << 2;
    if (a & bit) ACTIONS[n++] = action;
    if (b & bit) ACTIONS[n++] = action + 1;
    if (c & bit) ACTIONS[n++] = action + 2;
    if (d & bit) ACTIONS[n++] = action + 3;
  }
  return jumps ? begin - n : n - begin;
}

function canJump(bit, king, opp, empty) {
  const down = (downRight(downRight(bit) & opp) | downLeft(downLeft(bit) & opp)) & empty;
  return (down | (king ? (upRight(upRight(bit) & opp) | upLeft(upLeft(bit) & opp)) & empty : 0)) !== 0;
}

/** Play a legal action at `at` and write the position after it to `at + 1`; return whether the turn passed. */
export function playHop(at, action) {
  let own = OWN[at], opp = OPP[at], kings = KINGS[at], clock = 0, jumper = 0;
  const start = 1 << (action >> 2), middle = 1 << STEP_TO[action], king = (kings & start) !== 0;
  if (opp & middle) {
    const landing = JUMP_TO[action], end = 1 << landing;
    opp ^= middle, kings &= ~middle, own ^= start | end;
    if (king) kings ^= start | end;
    else if (end & LAST_ROW) kings |= end;
    if ((king || !(end & LAST_ROW)) && canJump(end, king, opp, ~(own | opp))) jumper = landing + 1;
  } else {
    own ^= start | middle;
    if (king) kings ^= start | middle, clock = CLOCK[at] + 1;
    else kings |= middle & LAST_ROW;
  }
  const next = at + 1, passed = jumper === 0, side = SIDE[at] & BLACK;
  OWN[next] = passed ? rotate(opp) : own, OPP[next] = passed ? rotate(own) : opp;
  KINGS[next] = !passed || kings === 0 ? kings : rotate(kings);
  SIDE[next] = passed ? side ^ BLACK : side | jumper, CLOCK[next] = clock;
  return passed;
}

/** Make a position number `at` of the path. */
export function setPosition(at, position) {
  OWN[at] = position.own, OPP[at] = position.opp, KINGS[at] = position.kings;
  SIDE[at] = position.black ? BLACK : 0, CLOCK[at] = position.clock;
}

// --- positions ------------------------------------------------------------------------------------------------------

const make = (own, opp, kings, black, clock) =>
  Object.freeze({ own, opp, kings, black, clock, key: [black ? "B" : "W", own, opp, kings].join() });

const squareOf = (index, black) => (black ? index + 1 : 32 - index);

/** The initial position. A position has `black` (is Black to move?), `clock` (plies since the last capture or man's
 * move) and `key` (equal if and only if the position is, whatever its clock); it never changes. */
export const startPosition = () => make(0x00000fff, 0xfff00000 | 0, 0, true, 0);

/** The pieces by PDN square: `b` or `w` for a man, `B` or `W` for a king. */
export function pieces(position) {
  const found = {};
  for (let index = 0; index < 32; index++) {
    const bit = 1 << index;
    if (!((position.own | position.opp) & bit)) continue;
    const letter = ((position.own & bit) !== 0) === position.black ? "b" : "w";
    found[squareOf(index, position.black)] = position.kings & bit ? letter.toUpperCase() : letter;
  }
  return found;
}

const fail = (problem) => { throw new Error(problem); };

/** A position from its pieces, the inverse of `pieces`; an Error says why the rules exclude it. */
export function fromPieces(placed, black, clock = 0, refuse = fail) {
  const sides = { b: 0, w: 0 };
  let kings = 0;
  for (const [square, letter] of Object.entries(placed)) {
    const side = letter.toLowerCase(), bit = 1 << (square - 1);
    sides[side] |= bit;
    if (letter !== side) kings |= bit;
  }
  for (const [side, name, last] of [["b", "Black", LAST_ROW], ["w", "White", FIRST_ROW]]) {
    const count = Object.values(placed).filter((letter) => letter.toLowerCase() === side).length;
    if (count > 12) refuse(`${name} has ${count} pieces, at most 12 are possible`);
    const stuck = sides[side] & ~kings & last;
    if (stuck) refuse(`a man of ${name} on its crowning row, square ${32 - Math.clz32(stuck & -stuck)}`);
  }
  if (clock > MAX_CLOCK) refuse(`expected halfmove_clock from 0 to ${MAX_CLOCK}, found ${clock}`);
  if (black) return make(sides.b, sides.w, kings, true, clock);
  return make(rotate(sides.w), rotate(sides.b), rotate(kings), false, clock);
}

const FEN = /^([BW])\s*:\s*([BW])([^:]*):\s*([BW])([^:]*?)((?:\s*:\s*[HF]\d{1,5})*)\s*\.?$/i;
const SQUARES = /^\s*(K?)\s*(\d{1,2})\s*(?:-\s*(K?)\s*(\d{1,2})\s*)?$/i;

/** Read a FEN such as `B:W18,24,K10:B1-12:H5`, in all forms that `ckai.game.text` reads; an Error says what is wrong. */
export function parseFen(text) {
  const refuse = (problem) => fail(`FEN '${text.slice(0, 80)}': ${problem}`);
  const tag = /^\s*\[\s*FEN\s*"([^"]*)"\s*\]\s*$/i.exec(text);
  const found = FEN.exec((tag ? tag[1] : text).trim().replace(/^["']+|["']+$/g, "").trim());
  if (!found || found[2].toUpperCase() === found[4].toUpperCase()) {
    refuse("expected the side to move, one list W... and one list B..., such as B:W21-32:B1-12");
  }
  const [, turn, one, ones, two, twos, fields] = found, placed = {};
  for (const [color, list] of [[one.toUpperCase(), ones], [two.toUpperCase(), twos]]) {
    for (const item of list.split(",").filter((each) => each.trim())) {
      const parts = SQUARES.exec(item);
      if (!parts) refuse(`expected a square such as 18, K18 or 1-12, found '${item.trim().slice(0, 20)}'`);
      const first = Number(parts[2]), last = Number(parts[4] ?? parts[2]);
      if (first < 1 || first > last || last > 32) refuse(`expected squares from 1 to 32, low square first, found '${item.trim()}'`);
      for (let square = first; square <= last; square++) {
        if (placed[square]) refuse(`two pieces on square ${square}`);
        placed[square] = parts[1] || parts[3] ? color : color.toLowerCase();
      }
    }
  }
  const clock = /H(\d+)/i.exec(fields);
  return fromPieces(placed, turn.toUpperCase() === "B", clock ? Number(clock[1]) : 0, refuse);
}

/** The FEN of a position: White first, squares ascending, the H field if the clock is above 0. */
export function fen(position) {
  const sides = { b: [], w: [] };
  for (const [square, letter] of Object.entries(pieces(position))) {
    const side = letter.toLowerCase();
    sides[side].push(letter === side ? square : `K${square}`);
  }
  const clock = position.clock ? `:H${position.clock}` : "";
  return `${position.black ? "B" : "W"}:W${sides.w}:B${sides.b}${clock}`;
}

// --- whole moves ----------------------------------------------------------------------------------------------------

/** Every legal move, sorted by squares: {path: all squares the piece stands on, captured: squares, text, hops}. Two
 * routes over different squares are two moves, even if they capture the same pieces. */
export function legalMoves(position) {
  const moves = [], black = position.black;
  const walk = (at, path, captured, hops) => {
    const count = legalHops(at), jumps = count < 0;
    for (const action of ACTIONS.slice(at * LEGAL, at * LEGAL + Math.abs(count))) {
      const to = squareOf((jumps ? JUMP_TO : STEP_TO)[action], black);
      const way = path.length ? [...path, to] : [squareOf(action >> 2, black), to];
      const taken = jumps ? [...captured, squareOf(STEP_TO[action], black)] : captured;
      const played = [...hops, action];
      if (!playHop(at, action)) walk(at + 1, way, taken, played);
      else moves.push({ path: way, captured: taken, text: way.join(jumps ? "x" : "-"), hops: played });
    }
  };
  setPosition(HERE, position);
  walk(HERE, [], [], []);
  return moves.sort((a, b) => {
    const i = a.path.findIndex((square, n) => square !== b.path[n]);
    return i < 0 ? 0 : a.path[i] - b.path[i];
  });
}

/** The legal move that text such as `11-15` or `26x1` names, squares between the first and the last being optional
 * where one move fits; null if none does, or several. */
export function findMove(position, text) {
  if (!/^\s*\d{1,2}(\s*[-xX:–*]\s*\d{1,2})+\s*$/.test(text)) return null;
  const squares = text.match(/\d+/g).map(Number), last = squares.length - 1;
  const fits = legalMoves(position).filter(({ path }) => {
    if (path[0] !== squares[0] || path[path.length - 1] !== squares[last]) return false;
    let met = 1;
    for (const square of path.slice(1, -1)) if (met < last && square === squares[met]) met++;
    return met === last;
  });
  return fits.find(({ path }) => path.length === squares.length) ?? (fits.length === 1 ? fits[0] : null);
}

/** The position after a legal move; `position` does not change. */
export function play(position, move) {
  setPosition(HERE, position);
  move.hops.forEach((action, n) => playHop(HERE + n, action));
  const at = HERE + move.hops.length;
  return make(OWN[at], OPP[at], KINGS[at], (SIDE[at] & BLACK) !== 0, Math.min(CLOCK[at], MAX_CLOCK));
}

/** How a game ended: null while it lasts, else {winner: "black", "white" or null, result: PDN's, text: a sentence}.
 * `history`: all positions of the game, the current one last. */
export function result(history) {
  const here = history[history.length - 1], names = here.black ? ["Black", "White"] : ["White", "Black"];
  if (!legalMoves(here).length) {
    const winner = names[1].toLowerCase(), why = here.own ? "no legal move" : "no pieces left";
    return { winner, result: here.black ? "0-1" : "1-0", text: `${names[1]} won: ${names[0]} has ${why}` };
  }
  const times = history.filter((position) => position.key === here.key).length;
  const drawn = (text) => ({ winner: null, result: "1/2-1/2", text: `drawn: ${text}` });
  const ordinal = ["third", "fourth", "fifth"][times - REPETITION_LIMIT] ?? `${times}th`;
  if (times >= REPETITION_LIMIT) return drawn(`the position stands for the ${ordinal} time`);
  if (here.clock >= HALFMOVE_LIMIT) return drawn(`${here.clock} plies without a capture or a man's move`);
  return null;
}
