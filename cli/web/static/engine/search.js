// Alpha-beta search with an integer network: from an empty table its tree equals `ckai.rl.alphabeta`'s, node by node.
//
// Scores are integers for the side to move: VALUE_SCALE times the network's value; a win in n plies is WON - n. The
// search keeps its own stack, a frame for each position of the path, so that it can pause anywhere: a worker without
// shared memory hears of a message only between two slices of a search.

import {
  ACTIONS, BLACK, CLOCK, HALFMOVE_LIMIT, JUMPER, KINGS, LEGAL, MAX_PATH, OPP, OWN, REPETITION_LIMIT, SIDE,
  fen, legalHops, legalMoves, play, playHop, setPosition,
} from "./rules.js";

const VALUE_SCALE = 10000, WON = 30000, PROVEN = 20000, INFINITE = 32000, MAX_HISTORY = 16384, MAX_PV = 40;
const PENDING = 1 << 20, PAUSED = 1 << 21, CHECK = 128; // no scores; nodes between two looks at the clock

// What is searched less, and the order of moves; see `Constants` in rl/alphabeta/kernel.py.
const FULL_DEPTH_MOVES = 3, REDUCTION_DEPTH = 2, REDUCTION_BASE = 0.8, REDUCTION_DIVISOR = 2.5, UNLIKELY = 3;
const POLICY_DEPTH = 2, KILLER_BONUS = 1, STATIC_DEPTH = 4, STATIC_MARGIN = 1250, RAZOR_MARGIN = 750;
const INTERNAL_DEPTH = 4, TOP_RANK = 1000, REDUCED = 64;
const reductions = Int8Array.from({ length: REDUCED * REDUCED }, (_, n) => {
  const logs = Math.log(Math.max(1, Math.floor(n / REDUCED))) * Math.log(Math.max(1, n % REDUCED));
  return Math.max(1, Math.floor(REDUCTION_BASE + logs / REDUCTION_DIVISOR));
});

// --- the table: a state in four words, score | static << 16, depth | action << 8 | bound << 16 | age << 18 -----------

const ENTRIES = 1 << 20, WORDS = 6, AGES = 1 << 13, AGED = 8, MAX_DEPTH = 255, OFFSET = 32768, NO_SCORE = 32767;
const STATIC_ONLY = 0, EXACT = 1, LOWER = 2, UPPER = 3;
const table = new Int32Array(ENTRIES * WORDS);

const MIX_LOW = 0x1ce4e5b9, MIX_HIGH = 0xbf58476d | 0;
let mixLow = 0, mixHigh = 0;

/** Multiply 64 bits by 0xbf58476d1ce4e5b9, and fold the upper half of the product into the lower one. */
function mix(low, high) {
  const a = low & 0xffff, b = low >>> 16, c = MIX_LOW & 0xffff, d = MIX_LOW >>> 16, ad = Math.imul(a, d);
  const bc = Math.imul(b, c), middle = (Math.imul(a, c) >>> 16) + (ad & 0xffff) + (bc & 0xffff);
  const carried = Math.imul(b, d) + (ad >>> 16) + (bc >>> 16) + (middle >>> 16);
  mixHigh = (carried + Math.imul(low, MIX_HIGH) + Math.imul(high, MIX_LOW)) | 0;
  mixLow = Math.imul(low, MIX_LOW) ^ mixHigh;
}

/** The number of the first of the two rows that a state may have. */
function placeOf(own, opp, kings, side) {
  mix(own, opp);
  mix(mixLow ^ kings, mixHigh ^ side);
  return mixLow >>> 12;
}

/** Where the row of a state begins in the table, -1 if it has none. */
function probe(place, own, opp, kings, side) {
  for (let n = 0, row = place * WORDS; n < 2; n++, row = (place ^ 1) * WORDS) {
    const same = table[row] === own && table[row + 1] === opp && table[row + 2] === kings && table[row + 3] === side;
    if (same && table[row + 4] !== 0) return row;
  }
  return -1;
}

function worth(row) {
  if (table[row + 4] === 0) return -1000000;
  return (table[row + 5] & MAX_DEPTH) - AGED * ((age - (table[row + 5] >>> 18)) & (AGES - 1));
}

function store(at, score, value, depth, action, bound) {
  const own = OWN[at], opp = OPP[at], kings = KINGS[at], side = keys[at], place = places[at];
  const first = place * WORDS, second = (place ^ 1) * WORDS;
  let row = probe(place, own, opp, kings, side);
  if (row < 0) row = worth(second) < worth(first) ? second : first;
  if (Math.abs(score) >= PROVEN) score += score > 0 ? plies[at] : -plies[at]; // counts from the position, not the root
  table[row] = own, table[row + 1] = opp, table[row + 2] = kings, table[row + 3] = side;
  table[row + 4] = (score + OFFSET) | ((value + OFFSET) << 16);
  table[row + 5] = Math.min(depth, MAX_DEPTH) | (action << 8) | (bound << 16) | (age << 18);
}

const boundAt = (row) => (table[row + 5] >>> 16) & 3, actionAt = (row) => (table[row + 5] >>> 8) & 255;

// --- what a search works with ----------------------------------------------------------------------------------------

const order = new Float32Array(MAX_PATH * LEGAL), history = new Int32Array(128), killers = new Int16Array(MAX_PATH * 2);
const frame = () => new Int32Array(MAX_PATH + 1);
const depths = frame(), alphas = frame(), betas = frame(), plies = frame(); // the arguments of a position
const keys = frame(), places = frame(), statics = frame(); // SIDE, maybe with the clock; its row; its network's score
const counts = frame(), choices = frame(), flags = frame(), QUIET = 1, UNRANKED = 2, BY_POLICY = 4;
// The action that is searched: its number, window, reduction, whether the turn passes; and the best score so far.
const tried = frame(), lows = frame(), highs = frame(), cuts = frame(), passes = frame(), bests = frame();
let network, age = 0, nodes = 0, limit = Infinity, stopped = false, root = 0, here = 0;
let rootAction = -1, rootScore = 0, excluded = [];

/** A network's score of position number `at` of the path. */
export function evaluate(network, at) {
  return (VALUE_SCALE * network.evaluate(OWN[at], OPP[at], KINGS[at], SIDE[at] & JUMPER, SIDE[at] & BLACK)) | 0;
}

function isRepeated(at) {
  for (let i = Math.max(0, at - CLOCK[at]); i < at; i++) {
    if (OWN[i] === OWN[at] && OPP[i] === OPP[at] && KINGS[i] === KINGS[at] && SIDE[i] === SIDE[at]) return true;
  }
  return false;
}

/** Rank the actions from number `first` on; with the policy, the network must have evaluated the position last. */
function rank(at, first) {
  const begin = at * LEGAL + first, end = at * LEGAL + counts[at], byPolicy = (flags[at] & BY_POLICY) !== 0;
  let likeliest = byPolicy ? -Infinity : 0;
  for (let i = begin; i < end; i++) {
    order[i] = byPolicy ? network.logit(ACTIONS[i]) : 0;
    if (order[i] > likeliest) likeliest = order[i];
  }
  for (let i = begin; i < end; i++) {
    const action = ACTIONS[i], killer = action === killers[2 * at] || action === killers[2 * at + 1];
    order[i] = Math.fround(order[i] - likeliest) + history[action] / MAX_HISTORY + (killer ? KILLER_BONUS : 0);
  }
}

function swap(i, j) {
  const action = ACTIONS[i], value = order[i];
  ACTIONS[i] = ACTIONS[j], order[i] = order[j];
  ACTIONS[j] = action, order[j] = value;
}

const credit = (action, bonus) => void (history[action] += bonus - ((history[action] * Math.abs(bonus)) >> 14));

/** Reward the action that caused a cutoff, and penalize those tried before it. */
function reward(at) {
  const begin = at * LEGAL, i = begin + tried[at], action = ACTIONS[i];
  const bonus = Math.min(32 * depths[at] * depths[at], MAX_HISTORY / 8);
  if (killers[2 * at] !== action) {
    killers[2 * at + 1] = killers[2 * at];
    killers[2 * at] = action;
  }
  credit(action, bonus);
  for (let j = begin; j < i; j++) credit(ACTIONS[j], -bonus);
}

// --- the search ------------------------------------------------------------------------------------------------------

/** Begin with a position; return its score if no action needs to be searched, else PENDING with one at `at + 1`. */
function enter(at) {
  const begin = at * LEGAL, legal = legalHops(at), quiet = legal >= 0, alpha = alphas[at];
  let count = Math.abs(legal), depth = depths[at], beta = betas[at];
  if (at > root) {
    if (count === 0) return plies[at] - WON;
    if (CLOCK[at] >= HALFMOVE_LIMIT || isRepeated(at)) return 0;
    beta = Math.min(beta, WON - plies[at] - 1); // no line is better than a win on the next ply
    if (alpha >= beta) return beta;
  } else {
    const kept = ACTIONS.slice(begin, begin + count).filter((action) => !excluded.includes(action));
    ACTIONS.set(kept, begin);
    count = kept.length;
  }
  const leaf = (depth <= 0 && quiet) || at + 1 === MAX_PATH, narrow = beta - alpha === 1;
  depth = Math.max(depth, 0);
  const left = HALFMOVE_LIMIT - CLOCK[at], side = depth >= left ? SIDE[at] | (CLOCK[at] << 8) : SIDE[at];
  const place = placeOf(OWN[at], OPP[at], KINGS[at], side), row = probe(place, OWN[at], OPP[at], KINGS[at], side);
  keys[at] = side, places[at] = place, counts[at] = count;
  let tableAction = -1, value = NO_SCORE, guess = NO_SCORE;
  if (row >= 0) {
    value = guess = (table[row + 4] >>> 16) - OFFSET;
    const bound = boundAt(row);
    if (bound !== STATIC_ONLY) {
      tableAction = actionAt(row);
      let score = (table[row + 4] & 0xffff) - OFFSET;
      if (Math.abs(score) >= PROVEN) score += score > 0 ? -plies[at] : plies[at];
      if (at > root && (table[row + 5] & MAX_DEPTH) >= depth && (narrow || leaf)) {
        const inTime = Math.abs(score) < PROVEN || WON - Math.abs(score) - plies[at] <= left;
        if (inTime && (bound === EXACT || (bound === LOWER ? score >= beta : score <= alpha))) return score;
      }
      // Of any depth, it is nearer the truth than the network's own.
      if (Math.abs(score) < PROVEN && (bound === EXACT || (bound === LOWER) === (score > value))) guess = score;
    }
  }
  const byPolicy = count > 1 && depth >= POLICY_DEPTH, near = quiet && count > 1 && depth <= STATIC_DEPTH;
  const known = value !== NO_SCORE, wanted = !known && (leaf || near || (quiet && byPolicy));
  const prunable = near && narrow && at > root && Math.abs(beta) < PROVEN;
  const above = beta + STATIC_MARGIN * depth, below = alpha - RAZOR_MARGIN * depth;
  if (known && (leaf || (prunable && (guess >= above || guess <= below)))) return leaf ? value : guess;
  let first = -1;
  for (let i = 0; tableAction >= 0 && i < count; i++) if (ACTIONS[begin + i] === tableAction) first = i;
  const unranked = first >= 0 && !wanted; // often the actions after the table's are not needed
  if (wanted || (byPolicy && !unranked)) {
    const score = evaluate(network, at);
    if (wanted) {
      value = score;
      if (row < 0) store(at, 0, value, 0, 0, STATIC_ONLY);
      if (leaf || (prunable && (value >= above || value <= below))) return value;
    }
  }
  if (at > root && tableAction < 0 && depth >= INTERNAL_DEPTH) depth -= 1;
  depths[at] = depth, betas[at] = beta, statics[at] = value;
  flags[at] = (quiet ? QUIET : 0) | (unranked ? UNRANKED : 0) | (byPolicy ? BY_POLICY : 0);
  if (unranked) {
    swap(begin, begin + first);
    order[begin] = 0;
  } else {
    rank(at, 0);
    if (first >= 0) order[begin + first] = TOP_RANK;
  }
  tried[at] = 0, lows[at] = alpha, bests[at] = -INFINITE, choices[at] = ACTIONS[begin];
  return next(at);
}

/** Play the next action, the best by rank, and set its window. */
function next(at) {
  const i = tried[at], begin = at * LEGAL, flag = flags[at], depth = depths[at];
  if (i === 1 && flag & UNRANKED) {
    if (flag & BY_POLICY) evaluate(network, at);
    rank(at, 1);
  }
  if (i > 0 || !(flag & UNRANKED)) {
    let best = begin + i;
    for (let j = best + 1; j < begin + counts[at]; j++) if (order[j] > order[best]) best = j;
    swap(begin + i, best);
  }
  const passed = playHop(at, ACTIONS[begin + i]);
  let cut = 0;
  if (flag & QUIET && passed && depth >= REDUCTION_DEPTH && i >= FULL_DEPTH_MOVES) {
    cut = reductions[Math.min(depth, REDUCED - 1) * REDUCED + Math.min(i, REDUCED - 1)];
    if (order[begin + i] < -UNLIKELY) cut++;
    cut = Math.max(0, Math.min(cut, depth - 1));
  }
  // All but the first are expected to be no better: a null window, first at a lower depth.
  passes[at] = passed ? 1 : 0, cuts[at] = cut, highs[at] = i === 0 ? betas[at] : lows[at] + 1;
  return descend(at);
}

function descend(at) {
  const passed = passes[at], forced = counts[at] === 1 && !(flags[at] & QUIET); // does not count as depth
  depths[at + 1] = depths[at] - (forced ? 0 : passed) - cuts[at], plies[at + 1] = plies[at] + passed;
  alphas[at + 1] = passed ? -highs[at] : lows[at], betas[at + 1] = passed ? -lows[at] : highs[at];
  return PENDING;
}

/** Take the score of the action that was searched; return the position's score once it has one, else PENDING. */
function resume(at, found) {
  const score = passes[at] ? 0 - found : found, beta = betas[at];
  if (score > lows[at] && (cuts[at] > 0 || (highs[at] !== beta && score < beta))) {
    if (cuts[at] > 0) cuts[at] = 0;
    else {
      highs[at] = beta;
      if (at === root) [rootAction, rootScore] = [ACTIONS[at * LEGAL + tried[at]], score]; // maybe the time is over
    }
    return descend(at);
  }
  if (score > bests[at]) {
    bests[at] = score, choices[at] = ACTIONS[at * LEGAL + tried[at]];
    if (score > lows[at]) {
      lows[at] = score;
      if (at === root) [rootAction, rootScore] = [choices[at], score];
    }
    if (score >= beta && flags[at] & QUIET) reward(at);
  }
  if (bests[at] < beta && ++tried[at] < counts[at]) return next(at);
  const best = bests[at], bound = best <= alphas[at] ? UPPER : best >= beta ? LOWER : EXACT;
  if (at > root || !excluded.length) store(at, best, statics[at], depths[at], choices[at], bound);
  return best;
}

/** Search on from `here`; return the score of the root, or PAUSED at the time `until`, or once `stopped`. */
function advance(until) {
  for (let at = here, steps = 1; ; at++, steps++) {
    here = at;
    if (steps % CHECK === 0 && performance.now() >= until) return PAUSED;
    if (++nodes >= limit) stopped = true;
    if (stopped) return PAUSED;
    for (let score = enter(at); score !== PENDING; score = resume(at, score)) if (--at < root) return score;
  }
}

function* iterate(depth, end, slice) {
  depths[root] = depth, alphas[root] = -INFINITE, betas[root] = INFINITE, plies[root] = 0, here = root;
  for (;;) {
    const now = performance.now();
    if (now >= end) stopped = true;
    const score = advance(Math.min(now + slice, end));
    if (score !== PAUSED || stopped) return score;
    yield null;
  }
}

// --- results ---------------------------------------------------------------------------------------------------------

/** The main line from the root, as hops: the first action, then the table's. */
function mainLine() {
  const line = [], at = MAX_PATH, copy = (from) => {
    for (const words of [OWN, OPP, KINGS, SIDE, CLOCK]) words[at] = words[from];
  };
  copy(root);
  for (let action = rootAction; line.length < MAX_PV; ) {
    line.push(action);
    playHop(at, action);
    copy(at + 1);
    const rows = [SIDE[at] | (CLOCK[at] << 8), SIDE[at]].map((side) => {
      const state = [OWN[at], OPP[at], KINGS[at], side];
      return probe(placeOf(...state), ...state);
    });
    const row = rows.find((each) => each >= 0) ?? -1;
    if (row < 0 || boundAt(row) === STATIC_ONLY) break;
    action = actionAt(row);
    if (!ACTIONS.subarray(at * LEGAL, at * LEGAL + Math.abs(legalHops(at))).includes(action)) break;
  }
  return line;
}

/** The result's line: of its moves the last capture, if it is incomplete, is left out, but for the first. */
function lineOf(position) {
  const proven = Math.abs(rootScore) >= PROVEN, pv = [];
  for (let hops = mainLine(), at = position; hops.length; ) {
    const fits = legalMoves(at).filter((move) => move.hops.every((hop, n) => n >= hops.length || hop === hops[n]));
    const move = fits.find((each) => each.hops.length <= hops.length) ?? (pv.length ? null : fits[0]);
    if (!move) break;
    pv.push(move.text);
    at = play(at, move);
    hops = hops.slice(move.hops.length);
  }
  const value = proven ? Math.sign(rootScore) : rootScore / VALUE_SCALE;
  return { move: pv[0], value, plies: proven ? WON - Math.abs(rootScore) : null, pv };
}

/** Empty the table, so that the next search does not depend on earlier ones. */
export function forget() {
  table.fill(0), history.fill(0), age = 0;
}

/** End the search in progress: its next step is the last. */
export const stop = () => void (stopped = true);

/** Search a position; a generator that yields null where it pauses and a result after every depth, and returns the
 * last one: {depth, nodes, seconds, lines: [{move, value, plies, pv}]}, the best line first; value: for
 * the side to move, [-1, 1]; plies: to the end of a game that is won or lost, else null; pv: texts of moves.
 *
 * `earlier`: the positions of the game before it, oldest first. `limits`: {depth, nodes, seconds}, any of them, and
 * `lines`: how many first moves get a line. `slice`: milliseconds between two pauses. */
export function* search(net, position, earlier = [], limits = {}, slice = 20) {
  const begun = performance.now(), end = begun + 1000 * (limits.seconds ?? Infinity), most = limits.depth ?? MAX_PATH;
  const first = new Set(legalMoves(position).map(({ hops }) => hops[0]));
  const wanted = Math.min(limits.lines ?? 1, first.size);
  if (!first.size) throw new Error(`${fen(position)}: the side to move has no legal move, the game is over`);
  // Programs may play on where a rule has drawn the game.
  if (earlier.filter((each) => each.key === position.key).length >= REPETITION_LIMIT - 1) earlier = [];
  if (position.clock >= HALFMOVE_LIMIT) [position, earlier] = [{ ...position, clock: 0 }, []];
  earlier = earlier.slice(-MAX_PATH / 2);
  root = earlier.length;
  [...earlier, position].forEach((each, n) => setPosition(n, each));
  if (age === AGES - 1) forget();
  age++;
  killers.fill(-1);
  for (let i = 0; i < history.length; i++) history[i] >>= 1;
  [network, nodes, limit, stopped, rootAction] = [net, 0, limits.nodes ?? Infinity, false, -1];
  let lines = [], done = 0, complete = [-1, 0];
  const result = () => ({ depth: done, nodes, seconds: (performance.now() - begun) / 1000, lines });
  const merge = (found) => {
    const old = lines.filter((line) => found.every((each) => each.move !== line.move));
    lines = [found[0], ...[...found.slice(1), ...old].sort((a, b) => b.value - a.value)].slice(0, wanted);
  };
  while (done < Math.min(MAX_PATH, most)) {
    const score = yield* iterate(done + 1, end, slice);
    if (stopped) break;
    done++;
    complete = [rootAction, rootScore];
    const found = [lineOf(position)];
    for (excluded = [rootAction]; excluded.length < wanted; excluded.push(rootAction)) {
      yield* iterate(done, end, slice);
      if (stopped) break;
      found.push(lineOf(position));
    }
    [excluded, rootAction, rootScore] = [[], ...complete];
    merge(found);
    if (stopped) break;
    yield result();
    if (Math.abs(score) >= PROVEN && WON - Math.abs(score) <= done) break;
  }
  if (done === 0) {
    [limit, stopped, done] = [Infinity, false, 1]; // not even one ply was searched in time
    yield* iterate(1, Infinity, slice);
  } else if (stopped && rootScore <= -PROVEN) [rootAction, rootScore] = complete; // the others may be better
  merge([lineOf(position)]);
  return result();
}
