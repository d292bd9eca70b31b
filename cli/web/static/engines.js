// The engines: the server's over one WebSocket, and the one in this browser, called in the same way.
import { BrowserEngine } from "./browser.js";
import { get } from "./net.js";

const FIRST_WAIT = 300, MAX_WAIT = 8000, BROWSER = "browser"; // milliseconds before another attempt to connect

/** Tells of "players" (who can play and analyse is known), "problem" and "online" (the connection has come or gone). */
export class Engines extends EventTarget {
  /** @param site what site.json says. */
  constructor(site) {
    super();
    Object.assign(this, { site, number: 1, wait: FIRST_WAIT, browser: new BrowserEngine() });
    this.active = new Map(); // what has been asked for and is not over, by its number
    this.offer(site.players ?? []);
    if (!site.server) return;
    addEventListener("online", () => this.timer && this.open());
    this.open();
    this.find();
  }
  find() {
    get("api/players").then(({ players, problem }) => {
      this.offer(players);
      if (problem) this.tell("problem", problem);
    }, () => setTimeout(() => this.find(), 3000));
  }
  offer(players) {
    this.players = [...players, { game: "checkers", spec: BROWSER, name: "In this browser", group: BROWSER, note: "alpha-beta, ckai" }];
    this.tell("players");
  }
  tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

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
    for (const [number, old] of this.active) {
      if (old.message.kind === kind) this.stop(number) ?? old.told({ error: "another search took its place", final: true });
    }
    const id = this.number++, message = { id, kind, game: table.game.name, start: table.start, moves: table.moves(node), ...fields };
    this.active.set(id, { message, told });
    if (this.here(message)) this.browser.search(message, (answer) => this.received({ id, ...answer }));
    else this.send(message);
    return { stop: () => this.stop(id), now: () => this.end(id, "now") };
  }

  /** Search, and resolve to the last answer, or reject with its error. */
  ask(kind, fields) {
    return new Promise((resolve, reject) => this.search(kind, fields, (answer) => {
      if (answer.error) reject(new Error(answer.error));
      else if (answer.final) resolve(answer);
    }));
  }

  // Whether this browser itself searches.
  here({ engine }) { return engine === BROWSER || !this.site.server; }
  stop(id) { if (this.active.delete(id)) this.end(id, "stop"); }
  end(id, kind) {
    this.browser.stop(id, kind === "now");
    this.send({ id, kind });
  }
  send(message) { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message)); }
  received({ id, ...answer }) {
    const asked = this.active.get(id);
    if (answer.final) this.active.delete(id);
    asked?.told(answer);
  }

  // Connect; what was asked for and is not over is asked for again.
  open() {
    clearTimeout(this.timer);
    this.timer = null;
    const address = new URL("ws", location.href.split(/[?#]/)[0]);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = this.socket = new WebSocket(address);
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.tell("online", true);
      for (const { message } of this.active.values()) if (!this.here(message)) this.send(message);
    };
    socket.onmessage = ({ data }) => this.received(JSON.parse(data));
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.tell("online", false);
      this.timer = setTimeout(() => this.open(), this.wait * (0.7 + 0.6 * Math.random()));
      this.wait = Math.min(MAX_WAIT, 2 * this.wait);
    };
  }
}
