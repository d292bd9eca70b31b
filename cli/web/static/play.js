// The view of a game in progress: what to do, the moves, and all that one can ask for.
import { confirmed, el, iconButton, refill } from "./dom.js";
import { MoveList } from "./movelist.js";
import { askNewGame } from "./newgame.js";
import { sideName } from "./words.js";

const JUDGE_SECONDS = 0.7; // of the search for a hint, and for the answer to a draw

export class PlayView {
  constructor(app) {
    Object.assign(this, { app, table: app.table });
    this.status = el("p.status", { "aria-live": "off" });
    this.details = el("p.details");
    this.moves = new MoveList(app);
    this.actions = el("div.game-actions");
    this.root = el("section.card.play-view", { "aria-label": "Play" },
      el("div.headline", {}, this.status, this.details), this.moves.root, this.actions);
    this.table.on("state", () => this.update());
    this.table.on("saved", () => this.update());
    this.update();
  }
  enter() { if (this.table.interrupted) this.table.resume(); }

  update() {
    const { table } = this, outcome = table.mode === "play" ? table.outcome() : null;
    this.status.textContent = this.text(outcome);
    this.status.classList.toggle("over", Boolean(outcome));
    const { problem = "" } = this.app.referee?.thinking ?? {};
    this.details.replaceChildren(...[this.table.empty && "Begin a new game, or move the men of both sides as you like.", table.opening(),
      problem, outcome && table.file && `Saved as games/${table.file.name}`, table.problem]
      .filter(Boolean).map((text) => el("span", {}, text)));
    this.drawActions(outcome);
    if (this.hinted && this.hinted !== table.node) this.hinted = this.app.stage.point([]);
  }
  text(outcome) {
    const { table } = this, turn = table.turn(table.current);
    if (table.mode === "analysis") return this.table.empty ? "Ready when you are" : "This game is being analysed.";
    if (outcome) return outcome.text;
    if (table.node !== table.current) return "Looking back";
    if (!table.human(turn)) return `${table.players[turn].name} is thinking …`;
    if (!table.mySide) return `${sideName(table.game, turn)} to move`;
    return table.game.kings && table.legal.some(({ captures }) => captures.length) ? "Your move: you must capture" : "Your move";
  }
  drawActions(outcome) {
    const { app, table } = this, parts = [], played = table.current !== table.begin, turn = table.turn(table.current);
    const button = (name, label, click, options) => parts.push(iconButton(name, label, click, { bare: false, ...options }));
    const going = table.goingOn, pass = going && table.legal.find(({ path }) => !path.length);
    if (table.mode === "analysis" && !this.table.empty) button("go", "Play on from here", () => askNewGame(app, true));
    if (going && table.node !== table.current) button("last", "Back to the game", () => table.go(table.current), { class: "primary" });
    else if (going) {
      if (!table.human(turn)) button("stop", "Move now", () => app.referee.thinking?.search.now());
      else button("hint", "Hint", () => this.hint());
      if (pass) button("next", "Pass", () => table.move(pass));
      button("undo", "Take back", () => table.undo(), { disabled: !table.canUndo });
      button("draw", "Offer a draw", () => this.offer(), { disabled: !played || !table.human(turn) });
      button("flag", "Resign", () => this.resign(), { disabled: !played });
    }
    if (outcome) {
      button("rematch", "Rematch", () => table.rematch(false), { class: "primary" });
      button("flip", "Rematch, other side", () => table.rematch(true));
      if (table.canUndo) button("undo", "Take back", () => table.undo());
    }
    if (!this.table.empty) button("analysis", "Analyse", () => app.show("analysis"));
    button("plus", "New game", () => askNewGame(app), { class: going && played ? "" : "primary" });
    refill(this.actions, ...parts);
  }
  judge() { return this.app.engines.ask("ask", { table: this.table, seconds: JUDGE_SECONDS }); }
  async hint() {
    const { table, app } = this, { node } = table, { lines: [{ pv: [{ move, path }] }] } = await this.judge();
    if (table.node !== node) return;
    this.hinted = node;
    app.stage.point([{ path, kind: "best" }]);
    app.toast(`A good move: ${move}`);
  }

  // An engine accepts unless it stands better.
  async offer() {
    const { table, app } = this, { node, mySide } = table, value = mySide ? (await this.judge()).lines[0].value : null;
    if (table.node !== node || !table.goingOn) return; // the time may have been up
    if (value !== null && (mySide === "black" ? value < 0.49 : value > 0.51)) app.toast("The draw is declined.");
    else table.end(null, "agreed");
  }
  async resign() {
    const { table } = this, side = table.mySide ?? table.turn(table.current), other = side === "black" ? "white" : "black";
    if (!await confirmed("Resign this game?", "The game counts as lost. It stays saved.", "Resign", "Keep playing")) return;
    if (table.goingOn) table.end(other, `${sideName(table.game, side)} resigned`);
  }
}
