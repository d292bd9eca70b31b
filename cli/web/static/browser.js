// The engine in this browser: alpha-beta with the installed network, in a worker; it needs no server.
import { fen } from "./engine/rules.js";
import { replay, steps } from "./look.js";

const ORDER = ["play", "ask", "analyse"]; // what goes first; an analysis gives way to the others and then continues
const CKAI = "ckai", HUMAN = "human"; // the network that searches, and the one that plays as people do
const MOVES_LEFT = 25, MOVE_SECONDS = 1; // of a clock; of a move without one

export class BrowserEngine {
  constructor() { Object.assign(this, { jobs: {}, running: null, loaded: new Set(), number: 0 }); }

  /** Search, see `request` in net.js. One search at a time; a search that another one interrupts waits in its place. */
  search(kind, message, told) {
    const job = this.jobs[kind] = { ...message, kind, told, id: ++this.number };
    if (!this.running) this.begin();
    else if (this.running.kind === "analyse") this.halt();
    return (how) => {
      if (how === "stop" && this.jobs[kind] === job) delete this.jobs[kind];
      if (this.running === job) this.halt();
    };
  }
  halt() { this.worker.postMessage({ type: "stop" }); }
  load(name) {
    if (this.loaded.has(name)) return;
    this.loaded.add(name);
    this.worker.postMessage({ type: "load", url: new URL(`networks/${name}`, document.baseURI).href });
  }
  get first() { return ORDER.map((kind) => this.jobs[kind]).find(Boolean); }
  begin() {
    const job = this.running = this.first;
    if (!job) return;
    if (!this.worker) {
      this.worker = new Worker(new URL("./engine/worker.js", import.meta.url), { type: "module" });
      this.worker.onmessage = ({ data }) => this.received(data);
    }
    const { kind, id, engine = "", start, moves, lines = 1, seconds, clock, increment, told } = job, level = Number(engine.split(":")[1]) || null;
    const history = replay(start, moves), fens = history.map(fen);
    job.position = history.at(-1);
    const most = clock ? Math.max(0.05, Math.min(clock / 4, clock / MOVES_LEFT + 0.8 * increment)) : MOVE_SECONDS;
    this.load(CKAI);
    if (level) this.load(HUMAN);
    if (kind === "play") told({ begun: true });
    this.worker.postMessage({ type: "search", id, fen: fens.at(-1), history: fens.slice(0, -1),
      limit: { lines, ...(level && { level }), ...(kind === "analyse" ? {} : { seconds: seconds ?? most }) } });
  }
  received({ type, id, message, ...found }) {
    const job = this.running, { kind } = job ?? {}, wanted = this.jobs[kind] === job;
    if (type === "loaded") return;
    if (type === "error") this.loaded.clear();
    if (job && (id === undefined || id === job.id)) {
      const over = type !== "info", waits = type === "done" && kind === "analyse" && wanted && this.first !== job;
      if (over && !waits && wanted) delete this.jobs[kind];
      job.told(type === "error" ? { error: message, final: true } : { ...this.answer(job, found), final: over && !waits });
      if (!over) return;
    }
    this.begin();
  }
  answer({ position }, { lines, nodes = 0, depth = 0, seconds = 0 }) {
    const score = (value) => (value === undefined ? null : (1 + (position.black ? value : -value)) / 2);
    return { nodes, depth, seconds, lines: lines.map(({ value, plies = null, pv }) => (
      { value: score(value), proven: plies ? (value > 0 ? "win" : "loss") : null, plies, pv: steps(position, pv) })) };
  }
}
