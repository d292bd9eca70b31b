// The engine in a worker of its own: new Worker("engine/worker.js", { type: "module" }).
//
// To it: {type: "load", url}, once for each network: `ckai`, and `human` for levels that err as people do;
// {type: "search", id, fen, history: [FENs, oldest first], limit: {depth, nodes, seconds, lines, level}}, what `search`
// in search.js takes; {type: "stop"}; {type: "forget"}, before a new game. Any message ends a search.
// From it: {type: "loaded", name}; {type: "info" or "done", id, ...} with what `search` yields; {type: "error", id, message}.

import { levelWeights } from "./levels.js";
import { loadNetwork } from "./network.js";
import { parseFen } from "./rules.js";
import { forget, search, stop } from "./search.js";

const networks = {}, breaks = new MessageChannel();
let latest = 0, running = Promise.resolve();

/** Let messages arrive; a timer would be late by milliseconds. */
const pause = () => new Promise((go) => {
  breaks.port1.onmessage = go, breaks.port2.postMessage(null);
});

function* playLevel(level, game) {
  const weights = yield* levelWeights(networks.human, networks.ckai, game, level);
  let left = Math.random() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  const [move] = weights.find(([, weight]) => (left -= weight) < 0) ?? weights[0];
  return { lines: [{ move, pv: [move] }] };
}

const answers = {
  forget,
  async load({ url }) {
    const network = await loadNetwork(url);
    networks[network.name] = network;
    postMessage({ type: "loaded", name: network.name });
  },
  async search({ id, fen, history = [], limit = {} }, number) {
    const game = [...history, fen].map(parseFen), level = networks.ckai.levels[limit.level - 1] ?? {};
    const limits = { ...limit, ...level }, here = level.temperature ? null : game.pop();
    const searching = here ? search(networks.ckai, here, game, limits) : playLevel(level, game);
    let found = searching.next();
    for (; !found.done; found = searching.next()) {
      if (found.value && here) postMessage({ type: "info", id, ...found.value });
      await pause();
      if (number !== latest) stop();
    }
    postMessage({ type: "done", id, ...found.value });
  },
};

onmessage = ({ data }) => {
  const number = ++latest, fail = ({ message }) => postMessage({ type: "error", id: data.id, message });
  running = running.then(() => answers[data.type]?.(data, number)).catch(fail);
};
