// Levels that err as people do, as `ckai.rl.engine.alphabeta` has them: the policy of people, and a search of some plies.

import { ACTIONS, HALFMOVE_LIMIT, HERE, LEGAL, legalHops, legalMoves, play, playHop, setPosition } from "./rules.js";
import { evaluate, search } from "./search.js";

/** The probability of every legal move, in their order, by a network's policy. */
export function policy(network, position) {
  return legalMoves(position).map(({ hops }) => {
    setPosition(HERE, position);
    return hops.reduce((p, hop, n) => {
      const at = HERE + n, count = Math.abs(legalHops(at));
      evaluate(network, at);
      const logits = Array.from(ACTIONS.slice(at * LEGAL, at * LEGAL + count), (action) => network.logit(action));
      const played = network.logit(hop);
      playHop(at, hop);
      return p / logits.reduce((sum, logit) => sum + Math.exp(logit - played), 0);
    }, 1);
  });
}

/** The weight of every legal move for a level, {temperature, depth, regret}; a generator that yields as `search` does.
 * `people`: the network with the policy; `network`: the one that searches; `game`: positions, the current one last. */
export function* levelWeights(people, network, game, { temperature, depth, regret }) {
  const position = game[game.length - 1], moves = legalMoves(position);
  const scores = policy(people, position).map((p) => Math.log(Math.max(p, 1e-6)) / temperature);
  for (let n = 0; depth && n < moves.length; n++) {
    const after = play(position, moves[n]);
    if (!legalMoves(after).length) scores[n] += 1 / regret;
    else if (after.clock < HALFMOVE_LIMIT && game.every((earlier) => earlier.key !== after.key)) {
      scores[n] -= (yield* search(network, after, game, { depth })).lines[0].value / regret;
    }
  }
  const best = Math.max(...scores);
  return moves.map(({ text }, n) => [text, Math.exp(scores[n] - best)]);
}
