// The network `swift` computed with integers, as `ckai.models.inference.integers` does it: the same values to the bit.
//
// Two sums share a number, which halves the work: of the first layer in 32 bits, of the others in the 53 bits that a
// float holds exactly. Only active units, those above 0, are multiplied. The sums of the first layer are kept for
// either side to move; the rows of pieces and pairs that came or went since are added to them or taken off.

import { upLeft, upRight } from "./rules.js";

const SHIFT = 9, LIMIT = 1 << SHIFT, PRODUCT_SCALE = LIMIT * LIMIT, MAX_EXPONENT = 700;
const UPPER = 2 ** 27; // the upper of two sums is multiplied by it; `engine_file` refuses weights that need more room

const PIECES = 4, PAIRS = 5; // planes of pieces, and the first plane of pairs: one for each way and two pieces
const BEFORE = [upLeft, upRight]; // from squares to those before them on the ways down right and down left

/** Read the file that `ckai.cli.web.engine_file` writes. */
export async function loadNetwork(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: expected a network, found ${answer.status} ${answer.statusText}`);
  const file = await answer.arrayBuffer(), length = new DataView(file).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 4, length)));
  const packed = new Blob([new Uint8Array(file, 4 + length)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const body = new Uint8Array(await new Response(packed).arrayBuffer());
  const arrays = {}, shapes = {};
  let at = 0;
  for (const { name, bytes, shape } of header.arrays) {
    const size = shape.reduce((a, b) => a * b), whole = new Uint8Array(size * bytes);
    for (let byte = 0; byte < bytes; byte++) for (let i = 0; i < size; i++) whole[i * bytes + byte] = body[at++];
    arrays[name] = bytes === 2 ? new Int16Array(whole.buffer) : new Int32Array(whole.buffer);
    shapes[name] = shape;
  }
  return new Network(header, arrays, shapes);
}

/** Room for the active units of a layer and their values, from 1 to LIMIT. */
const room = (size) => ({ units: new Int32Array(size), values: new Int32Array(size), count: 0 });

/** Keep a unit if it is active; return how many there are. */
function keep({ units, values }, count, unit, value) {
  if (value <= 0) return count;
  units[count] = unit;
  values[count] = value > LIMIT ? LIMIT : value;
  return count + 1;
}

/** A layer after the first, one for each bucket: `weights` [buckets, outputs, inputs], `bias` [buckets, outputs]. */
class Layer {
  constructor(weights, bias, [buckets, outputs, inputs]) {
    const half = outputs >> 1;
    Object.assign(this, { bias, half, inputs, sums: new Float64Array(half), out: room(outputs) });
    // [buckets, inputs, half]: outputs n and n + half share a number.
    this.pairs = new Float64Array(buckets * inputs * half);
    this.pairs.forEach((_, at) => {
      const n = at % half, i = Math.floor(at / half) % inputs, b = Math.floor(at / half / inputs);
      const low = (b * outputs + n) * inputs + i;
      this.pairs[at] = weights[low + half * inputs] * UPPER + weights[low];
    });
  }

  apply(bucket, { units, values, count }) {
    const { half, pairs, sums, bias, out } = this, first = bucket * this.inputs * half;
    for (let n = 0; n < half; n += 8) {
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let i = 0; i < count; i++) {
        const value = values[i], at = first + units[i] * half + n;
        a += pairs[at] * value, b += pairs[at + 1] * value, c += pairs[at + 2] * value, d += pairs[at + 3] * value;
        e += pairs[at + 4] * value, f += pairs[at + 5] * value, g += pairs[at + 6] * value, h += pairs[at + 7] * value;
      }
      sums[n] = a, sums[n + 1] = b, sums[n + 2] = c, sums[n + 3] = d;
      sums[n + 4] = e, sums[n + 5] = f, sums[n + 6] = g, sums[n + 7] = h;
    }
    let active = 0;
    for (let n = 0, at = 2 * bucket * half; n < half; n++, at++) {
      const upper = Math.floor(sums[n] / UPPER + 0.5), lower = sums[n] - upper * UPPER;
      active = keep(out, active, n, (lower + bias[at] + (LIMIT >> 1)) >> SHIFT);
      active = keep(out, active, n + half, (upper + bias[at + half] + (LIMIT >> 1)) >> SHIFT);
    }
    out.count = active;
    return out;
  }
}

/** The sum of products of a row of weights, which begins at `at`, and active units. */
function dot(weights, at, { units, values, count }) {
  let total = 0;
  for (let i = 0; i < count; i++) total = (total + Math.imul(weights[at + units[i]], values[i])) | 0;
  return total;
}

class Network {
  constructor(header, arrays, shapes) {
    const [planes, squares, hidden] = shapes.first, half = hidden >> 1;
    Object.assign(this, arrays, { name: header.network, levels: header.levels, half, bucketPieces: header.bucket_pieces });
    [this.buckets, this.outputs, this.narrowest] = shapes.value;
    this.actions = shapes.policy[0];
    const pair = (weights, i) => ((weights[i + half] << 16) + weights[i]) | 0; // units i and i + half
    this.rows = new Int32Array((planes * squares + 1) * half); // the one after the last is empty
    for (let i = 0, n = 0; i < this.rows.length - half; i++, n = Math.floor(i / half)) {
      this.rows[i] = pair(arrays.first, i + half * n);
    }
    this.sums = [0, 1].map(() => Int32Array.from({ length: half }, (_, i) => pair(arrays.first_bias, i)));
    this.seen = [0, 1].map(() => new Int32Array(planes)); // the squares of each plane that are in the sums
    [this.came, this.went] = [0, 1].map(() => new Int32Array(planes * squares + 2));
    this.masks = new Int32Array(planes);
    this.inputs = shapes.second[2];
    this.product = this.inputs === half;
    this.wide = room(hidden);
    this.second = new Layer(arrays.second, arrays.second_bias, shapes.second);
    this.third = new Layer(arrays.third, arrays.third_bias, shapes.third);
    this.totals = new Int32Array(this.outputs);
    this.bucket = 0;
  }

  /** The value for the side to move, [-1, 1]. Boards are as in rules.js; `jumper`: 1 + its index, or 0. */
  evaluate(own, opp, kings, jumper, black) {
    this.firstLayer(own, opp, kings, jumper, black ? 1 : 0);
    let pieces = 0;
    for (let rest = own | opp; rest; rest &= rest - 1) pieces++;
    this.bucket = Math.min(Math.max(0, Math.floor((pieces - 1) / this.bucketPieces)), this.buckets - 1);
    return this.lastLayer(this.third.apply(this.bucket, this.second.apply(this.bucket, this.wide)));
  }

  firstLayer(own, opp, kings, jumper, view) {
    const { half, rows, masks, came, went, wide } = this;
    const sums = this.sums[view], seen = this.seen[view], empty = rows.length - half;
    const rowOf = (rest, plane) => (32 * plane + 31 - Math.clz32(rest & -rest)) * half;
    masks[0] = own & ~kings, masks[1] = own & kings, masks[2] = opp & ~kings, masks[3] = opp & kings;
    masks[PIECES] = jumper ? 1 << (jumper - 1) : 0;
    for (let plane = PAIRS; plane < masks.length; plane++) {
      const n = plane - PAIRS;
      masks[plane] = masks[(n >> 2) & 3] & BEFORE[n >> 4](masks[n & 3]);
    }
    let comes = 0, goes = 0;
    for (let plane = 0; plane < seen.length; plane++) {
      const now = masks[plane];
      for (let rest = now & ~seen[plane]; rest; rest &= rest - 1) came[comes++] = rowOf(rest, plane);
      for (let rest = seen[plane] & ~now; rest; rest &= rest - 1) went[goes++] = rowOf(rest, plane);
      seen[plane] = now;
    }
    while (comes < goes || comes & 1) came[comes++] = empty;
    while (goes < comes) went[goes++] = empty;
    for (let n = 0; n < comes; n += 2) {
      const a = came[n], b = came[n + 1], c = went[n], d = went[n + 1];
      for (let i = 0; i < half; i++) sums[i] = (sums[i] + rows[a + i] + rows[b + i] - rows[c + i] - rows[d + i]) | 0;
    }
    let active = 0;
    for (let i = 0; i < half; i++) {
      const low = (sums[i] << 16) >> 16;
      const high = (sums[i] - low) >> 16;
      if (!this.product) {
        active = keep(wide, active, i, low);
        active = keep(wide, active, i + half, high);
      } else if (low > 0 && high > 0) {
        active = keep(wide, active, i, (Math.min(low, LIMIT) * Math.min(high, LIMIT) + (LIMIT >> 1)) >> SHIFT);
      }
    }
    wide.count = active;
  }

  lastLayer(narrowest) {
    const { outputs, totals } = this;
    for (let n = 0; n < outputs; n++) {
      const row = this.bucket * outputs + n;
      totals[n] = dot(this.value, row * this.narrowest, narrowest) + this.value_bias[row];
    }
    const first = totals[0] / PRODUCT_SCALE;
    const draw = totals[1] / PRODUCT_SCALE - first, loss = totals[2] / PRODUCT_SCALE - first;
    const shift = Math.max(0, Math.max(draw, loss) - MAX_EXPONENT);
    const won = Math.exp(-shift), drawn = Math.exp(draw - shift), lost = Math.exp(loss - shift);
    return Math.fround((won - lost) / (won + drawn + lost));
  }

  /** The logit of an action in the position that was evaluated last. */
  logit(action) {
    const at = this.bucket * this.actions + action, narrow = this.second.out;
    const total = dot(this.policy, action * this.inputs, this.wide) + this.policy_bias[at];
    return Math.fround(total + dot(this.policy_narrow, at * narrow.units.length, narrow)) / PRODUCT_SCALE;
  }
}
