// What the page knows of its game on the server: the last state, the tree of moves, the search, the values.
import { Connection } from "./connection.js";

const KEY = "ckai-table";

/** Return pieces after a step of a line; see `changes` in the server's messages. */
export function after(pieces, changes) {
  const result = { ...pieces };
  for (const [square, letter] of Object.entries(changes)) {
    if (letter) result[square] = letter;
    else delete result[square];
  }
  return result;
}

function remembered() {
  try {
    return sessionStorage.getItem(KEY);
  } catch { // storage is switched off
    return null;
  }
}

/** Tells of "welcome", "players", "state", "search", "values", "run", "status" and "online", each an event with `detail`. */
export class Table extends EventTarget {
  constructor() {
    super();
    this.welcome = null;
    this.state = null;
    this.nodes = new Map();
    this.search = null;
    this.connection = new Connection({
      hello: () => ({ table: this.key ?? undefined }),
      message: (message) => this.received(message),
      online: (yes, reason) => this.tell("online", { yes, reason }),
    });
  }

  /** The key of the game on the server: in the address, so that a bookmark finds it, else of this tab. */
  get key() {
    return location.hash.split("/")[1] || remembered();
  }

  set key(key) {
    try {
      sessionStorage.setItem(KEY, key);
    } catch { /* the address has it */ }
    this.tell("key", key);
  }

  /** Ask the server; the answer, or an Error. */
  ask(type, fields) {
    return this.connection.ask(type, fields);
  }

  /** What `welcome` says of the game being played. */
  get game() {
    return this.gameNamed(this.state.game);
  }

  gameNamed(name) {
    return this.welcome.games.find((each) => each.name === name);
  }

  /** The node shown. */
  get node() {
    return this.nodes.get(this.state.node);
  }

  /** The node shown among those of all games: another game has nodes with the same numbers. */
  get place() {
    return `${this.state.tree}/${this.state.node}`;
  }

  /** The node `by` steps further along the line shown, or null. */
  stepped(by) {
    const { line, node } = this.state;
    return line[line.indexOf(node) + by] ?? null;
  }

  /** Expected points of Black at a node, 0 to 1, or null. */
  points(id) {
    return this.nodes.get(id)?.black ?? null;
  }

  /** The side that a person plays alone, or null. */
  get mySide() {
    const { black, white } = this.state.players;
    return black.human === white.human ? null : black.human ? "black" : "white";
  }

  /** The legal move that has no square to click, or undefined. */
  get pass() {
    return this.state.legal.find((move) => !move.path.length);
  }

  received(message) {
    const { type } = message;
    if (type === "welcome") {
      this.welcome = message;
      this.key = message.table;
    } else if (type === "players") {
      Object.assign(this.welcome, { players: message.players, networks: message.networks });
    } else if (type === "state") {
      if (message.nodes) this.nodes = new Map(message.nodes.map((node) => [node.id, node]));
      this.state = message;
      this.receivedAt = performance.now();
      if (this.search && !this.shows(this.search)) this.search = null;
    } else if (type === "search") {
      if (!this.state || !this.shows(message)) return;
      this.search = message;
    } else if (type === "values") {
      for (const { node, black } of message.points) {
        const found = this.nodes.get(node);
        if (found) found.black = black;
      }
    }
    this.tell(type, message);
  }

  // Whether a search is of the node shown.
  shows({ tree, node }) {
    return tree === this.state.tree && node === this.state.node;
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** Call a function with each message of a kind. */
  on(type, listener) {
    this.addEventListener(type, (event) => listener(event.detail));
  }
}
