// The view of a game in progress: what to do, the moves, and all that one can ask for.
import { confirmed } from "./dialog.js";
import { el, iconButton, refill } from "./dom.js";
import { sideName, t } from "./labels.js";
import { MoveList } from "./movelist.js";
import { askNewGame } from "./newgame.js";
import { playerName } from "./stage.js";

export class PlayView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.status = el("p.status", { "aria-live": "off" });
    this.details = el("p.details");
    this.moves = new MoveList(app, false);
    this.actions = el("div.game-actions");
    this.root = el("section.card.play-view", { "aria-label": t("play") },
      el("div.headline", {}, this.status, this.details), this.moves.root, this.actions);
    this.table.on("state", () => this.update());
    if (this.table.state) this.update();
  }

  update() {
    const { state } = this.table;
    this.status.textContent = this.statusText();
    this.status.classList.toggle("over", Boolean(state.outcome));
    this.details.replaceChildren(...[this.empty && t("welcome text"), state.opening, state.verdict?.text, ...state.notices,
      state.outcome && state.saved ? t("saved as", { path: state.saved }) : null, state.problem]
      .filter(Boolean).map((text) => el("span", {}, text)));
    this.drawActions();
  }

  // Whether nothing has been played or loaded yet.
  get empty() {
    const { state, nodes } = this.table;
    return state.mode === "analysis" && nodes.size === 1 && !state.resumable && !state.file;
  }

  statusText() {
    const { state, game } = this.table;
    if (state.mode === "analysis") return t(this.empty ? "welcome" : "in analysis");
    if (state.outcome) return state.outcome.text;
    if (state.node !== state.current) return t("looking back");
    if (!state.players[state.turn].human) return t("opponent thinks", { name: playerName(this.table, state.turn) });
    if (!this.table.mySide) return t("to move", { side: sideName(game, state.turn) });
    return t(game.kings && state.legal.some((move) => move.captures.length) ? "must capture" : "your move");
  }

  drawActions() {
    const { state } = this.table;
    const { app } = this;
    const button = (name, label, click, options) => iconButton(name, t(label), click, { bare: false, ...options });
    const going = state.mode === "play" && !state.outcome;
    const played = this.table.nodes.size > 1;
    const parts = [];
    if (state.mode === "analysis") {
      if (state.resumable) parts.push(button("back", "resume", () => app.do("resume"), { class: "primary" }));
      if (!this.empty) parts.push(button("go", "play on", () => askNewGame(app, "node")));
    } else if (state.node !== state.current) {
      parts.push(button("last", "to the end", () => app.do("go", { node: state.current }), { class: "primary" }));
    } else if (going) {
      if (state.thinking) parts.push(button("stop", "stop", () => app.do("stop")));
      else parts.push(button("hint", "hint", () => this.hint(), { disabled: !state.legal.length }));
      const mine = state.players[state.turn].human;
      const { pass } = this.table;
      if (mine && pass) parts.push(button("next", "pass", () => app.do("play", { move: pass.move, node: state.node })));
      parts.push(
        button("undo", "undo", () => app.do("undo"), { disabled: !state.canUndo }),
        button("redo", "redo", () => app.do("redo"), { disabled: !state.canRedo }),
        button("draw", "offer draw", () => this.offer(), { disabled: !played }),
        button("flag", "resign", () => this.resign(), { disabled: !played }));
    }
    if (state.mode === "play" && state.outcome) {
      parts.push(button("rematch", "rematch", () => app.do("rematch", {}), { class: "primary" }),
        button("flip", "swap sides", () => app.do("rematch", { swap: true })));
    }
    if (state.mode === "play") {
      parts.push(button("analysis", "analyse game", () => app.do("analysis").then(() => app.show("analysis"))));
    }
    parts.push(button("plus", "new game", () => askNewGame(app), { class: going && played ? "" : "primary" }));
    refill(this.actions, ...parts);
  }

  async hint() {
    const { place } = this.table;
    const step = await this.app.do("hint");
    if (!step || this.table.place !== place) return;
    this.app.stage.point([{ path: step.path, kind: "best" }]);
    this.app.toast(t("hint text", { move: step.move }));
    const gone = () => {
      if (this.table.place === place) return;
      this.app.stage.point([]);
      this.table.removeEventListener("state", gone);
    };
    this.table.addEventListener("state", gone);
  }

  async offer() {
    const answer = await this.app.do("draw");
    if (answer && !answer.accepted) this.app.toast(answer.text);
  }

  async resign() {
    if (await confirmed(t("resign?"), t("resign text"), t("resign"), t("keep playing"))) this.app.do("resign");
  }
}
