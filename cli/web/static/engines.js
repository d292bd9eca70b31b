// The engines: the server's, and the one in this browser, called in the same way.
import { BrowserEngine } from "./browser.js";
import { ask, last, request } from "./net.js";

const BROWSER = "browser";

/** Tells of "players": who can play and analyse is known. */
export class Engines extends EventTarget {
  /** @param site what site.json says. */
  constructor(site) {
    super();
    Object.assign(this, { site, browser: new BrowserEngine(), running: {} });
    this.offer(site.players ?? []);
    if (site.server) ask("players").then(({ players }) => this.offer(players));
  }
  offer(players) {
    this.players = [...players, { game: "checkers", spec: BROWSER, name: "In this browser", group: BROWSER, note: "alpha-beta, ckai" }];
    this.dispatchEvent(new Event("players"));
  }

  /** Who can play a game; with `analysts`, who can analyse it. */
  of({ name }, analysts = false) {
    const all = this.players.filter(({ game }) => game === name);
    if (!analysts) return all.filter(({ group }) => group !== BROWSER);
    const found = all.filter(({ group }) => ["engine", "network", BROWSER].includes(group));
    return (found.length ? found : all.filter(({ spec }) => spec.startsWith("rollout"))).map((each) => ({ ...each, spec: each.spec.split("@")[0] }));
  }

  /**
   * Search. A search of the same kind that is not over ends.
   * @param kind "play", "ask", "analyse", "explain" or "inside".
   * @param fields see the server's `Asked`; `table` and `node` say the position.
   * @param told called with each answer; the last one is `final`, maybe with an `error`.
   * @returns {stop, now}: end it without a result, or with the one so far.
   */
  search(kind, { table, node = table.node, ...fields }, told) {
    const { running, site } = this, message = { game: table.game.name, start: table.start, moves: table.moves(node), ...fields };
    running[kind]?.stop({ error: "another search took its place", final: true });
    const found = (answer) => {
      if (running[kind] !== search) return; // it has been stopped
      if (answer.final) delete running[kind];
      told(answer);
    };
    const search = running[kind] = { now: () => end("now"), stop: (answer) => {
      if (running[kind] !== search) return;
      delete running[kind];
      end("stop");
      if (answer) told(answer);
    } };
    const end = fields.engine === BROWSER || !site.server ? this.browser.search(kind, message, found) : request(kind, message, found);
    return search;
  }

  /** Search, and resolve to the last answer, or reject with its error. */
  ask(kind, fields) { return last((told) => this.search(kind, fields, told)); }
}
