// Sees to the game that is played: engines move, clocks run, games are saved.
import { ask } from "./net.js";
import { sideName } from "./words.js";

const PAUSE = 1000, MANY = 10; // milliseconds after a change; new moves from which an analysis is saved without being asked for

export class Referee {
  constructor(app) {
    Object.assign(this, { table: app.table, engines: app.engines, thinking: null, wanted: "", saving: Promise.resolve(), pending: null, files: {} });
    this.table.on("state", () => this.update());
    setInterval(() => this.tick(), 100);
    addEventListener("pagehide", () => this.table.run(null));
    this.update();
  }
  update() {
    const { table } = this, side = table.goingOn ? table.turn(table.current) : null, engine = side && !table.human(side);
    const wanted = engine ? `${table.key}/${table.current.id}/${table.players[side].spec}` : "";
    if (wanted !== this.wanted) {
      this.thinking?.search.stop();
      Object.assign(this, { thinking: null, wanted });
      if (wanted) this.think(side);
    }
    if (!engine) table.run(side);
    this.saveSoon();
  }
  think(side) {
    const { table } = this, node = table.current, thinking = this.thinking = { side, problem: "" };
    const clock = table.clock && { clock: table.left(side), increment: table.control.increment };
    thinking.search = this.engines.search("play", { table, node, engine: table.players[side].spec, ...clock }, (answer) => {
      if (this.thinking !== thinking || table.current !== node) return;
      if (answer.begun) table.run(side);
      thinking.problem = answer.error ?? answer.waiting ?? "";
      if (answer.resigns) table.end(side === "black" ? "white" : "black", `${sideName(table.game, side)} resigned`, { engine: true });
      else if (answer.final && answer.lines) {
        const [{ value, pv: [step] }] = answer.lines;
        Object.assign(this, { thinking: null, wanted: "" });
        node.value = value ?? node.value;
        table.move(step);
      } else table.tell("state");
    });
    table.tell("state");
  }
  tick() {
    const { table } = this, running = table.clock?.running;
    if (!running || table.left(running) > 0 || !table.goingOn) return;
    table.end(running === "black" ? "white" : "black", `${sideName(table.game, running)} is out of time`);
  }

  // --- saving -------------------------------------------------------------------------------------------
  saveSoon() {
    const { table } = this, playing = table.mode === "play" && table.current !== table.begin;
    if (this.pending && this.pending.key !== table.key) this.flush(); // another game has begun
    const now = `${table.key}/${table.fresh}/${table.outcome()?.result}`;
    if (this.saved === now || table.elsewhere === table.fresh || !this.engines.site.server) return;
    this.saved = now;
    if (table.puzzle || (!playing && table.touched < MANY)) return;
    this.pending = this.text();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), table.outcome() ? 0 : PAUSE);
  }
  text() {
    const { key, game: { name: game }, file } = this.table;
    return { key, game, file, text: this.table.pdn() };
  }
  flush() {
    if (this.pending) this.save(this.pending).catch(({ message }) => {
      this.table.problem = `the game could not be saved: ${message}`;
      this.table.tell("state");
    });
  }

  /** Write a game to its file on the server; resolves to the name. */
  async save({ key, game, text, file } = this.text()) {
    const { table, files } = this;
    this.pending = null;
    this.saving = this.saving.catch(() => {}).then(() => { // one after the other: the first one makes the file
      const { name = "", text: before = "" } = (table.key === key ? table.file : files[key]) ?? file ?? {};
      return before === text ? { name } : ask("save", { game, text, name, before });
    });
    const { name } = await this.saving;
    files[key] = { name, text };
    if (table.key !== key) return name;
    Object.assign(table, { file: files[key], problem: "" });
    table.storeSoon();
    table.tell("saved");
    return name;
  }
}
