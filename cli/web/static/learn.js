// The view of mistakes to learn from: find the better move. The server has them, judges answers, and asks again after days.
import { el, iconButton, refill } from "./dom.js";
import { ask } from "./net.js";
import { storedGames } from "./table.js";
import { count } from "./words.js";

export class LearnView {
  constructor(app) {
    Object.assign(this, { app, table: app.table, puzzle: null, due: [], status: el("p.status", { role: "status" }), details: el("p.details"),
      answered: el("div.explained"), actions: el("div.game-actions") });
    this.root = el("section.card.play-view", { "aria-label": "Learn" },
      el("div.headline", {}, this.status, this.details), this.answered, this.actions);
    this.table.on("state", () => this.follow());
  }
  async enter() {
    this.status.textContent = "Reading your mistakes …";
    this.table.store();
    this.before = this.table.key; // the game to come back to
    Object.assign(this, { problem: null }, await ask("puzzles").catch(({ message }) => ({ due: [], known: 0, problem: message })));
    if (this.active) this.begin();
  }
  leave() {
    const { table } = this, game = storedGames().find(({ key }) => key === this.before);
    if (table.puzzle) game ? table.restore(game) : table.analyse(table.game);
  }

  /** Ask for the next mistake that is due. */
  begin() {
    const { table, app } = this, puzzle = this.due.shift() ?? null;
    Object.assign(this, { puzzle, judged: null, first: true, over: false });
    this.answered.replaceChildren();
    if (puzzle) {
      table.reset(table.gameNamed("checkers"), puzzle.start, { puzzle: true });
      table.changed();
      app.stage.turn(table.turn() === "black");
    }
    this.draw();
  }
  follow() {
    const { table, puzzle } = this, { node } = table;
    if (!this.active || !puzzle || !table.puzzle) return;
    if (!node.parent) this.judged = null;
    else if (node.parent === table.root && node !== this.judged && !this.over) this.judge(node);
    this.draw();
  }

  // The move to a node as the answer; without one, show the better move.
  async judge(node = this.table.root) {
    const { table, app, puzzle: { mistake }, puzzle, first } = this;
    this.judged = node;
    this.answered.replaceChildren(el("p.soft", {}, "Searching …"));
    this.draw();
    const { right, text } = await app.engines.ask("learn", { table, node, mistake, first }).catch(({ message }) => ({ text: message }));
    if (puzzle !== this.puzzle) return;
    if (right !== undefined) Object.assign(this, { first: false, over: right || !node.parent });
    this.answered.replaceChildren(el("p", {}, node.parent && right !== undefined ? el("strong", {}, right ? "Right. " : "No. ") : null, text));
    this.draw();
  }
  draw() {
    const { app, table, puzzle, due, known, next, over, judged, problem } = this;
    const button = (name, label, click, options) => iconButton(name, label, click, { bare: false, ...options });
    this.status.textContent = puzzle ? `${puzzle.task}.` : known ? "No mistake is due." : "No mistakes to learn from yet";
    this.details.textContent = puzzle ? `${puzzle.event} · ${due.length ? count(due.length, "more is", "more are") : "no other is"} due` : known
      ? `The next of ${known} is due on ${next}.` : problem ?? "ckai analyze games/*.pdn keeps the mistakes of your games.";
    this.answered.hidden = !this.answered.firstChild;
    refill(this.actions, ...(!puzzle ? [] : [
      !over && judged?.parent && button("back", "Try again", () => table.go(table.root), { class: "primary" }),
      !over && button("hint", "Show it", () => this.judge()),
      over && button("analysis", "Analyse", () => { table.puzzle = false; app.show("analysis"); }),
      button("next", "Next", () => this.begin(), { class: over ? "primary" : "" })]));
  }
}
