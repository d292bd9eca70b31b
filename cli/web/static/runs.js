// Runs of self-play and of pretraining, followed while they go: curves, the newest games.
import { chart } from "./chart.js";
import { el, icon, refill, table as tableOf } from "./dom.js";
import { ask } from "./net.js";

const PAUSE = 3000; // milliseconds until the server is asked again

export class RunsView {
  constructor(app) {
    Object.assign(this, { app, table: app.table });
    this.list = el("div.run-list", {}, el("p.card.soft.padded", {}, "Looking for runs …"));
    this.detail = el("div.run-detail");
    this.root = el("section.runs-view", { "aria-label": "Runs" }, el("h2.visually-hidden", {}, "Runs"), this.list, this.detail);
  }
  enter() { this.look(); }
  leave() { clearTimeout(this.timer); }
  async look(run = this.followed) {
    clearTimeout(this.timer);
    try {
      const { runs, run: found } = await ask("runs", { run });
      this.followed = found?.run;
      this.drawList(runs);
      if (JSON.stringify(found) !== JSON.stringify(this.found)) this.show(found);
      this.found = found;
    } catch (error) {
      this.detail.replaceChildren(el("p.card.padded.error", {}, error.message));
      this.found = null;
    }
    clearTimeout(this.timer);
    if (this.active) this.timer = setTimeout(() => this.look(), PAUSE);
  }
  drawList(runs) {
    refill(this.list, ...(runs.length ? runs.map(({ run, kind, status, text }) => el("button.run-item.card", {
      "data-key": run, "aria-current": run === this.followed ? "true" : null, click: () => this.look(run),
    }, el("b", {}, run), badge(status), el("span.soft", {}, `${kind} · ${text}`)))
      : [el("p.card.soft.padded", {}, "No runs here yet. `ckai selfplay` and `ckai pretrain` make them; they appear while they run.")]));
  }
  show(run) {
    if (!run || run.problem) return void this.detail.replaceChildren(el("p.card.padded.error", { hidden: !run }, run?.problem ?? ""));
    const place = this.detail.querySelector(".scroll")?.scrollTop ?? 0, open = this.detail.querySelector("details")?.open;
    const settings = Object.entries(run.settings);
    this.detail.replaceChildren(...[
      el("div.card.padded.run-head", {}, el("h2", {}, run.run), badge(run.status), el("p", { role: "status" }, run.text)),
      el("div.charts", {}, ...run.curves.map((curve) => el("div.card.padded", {}, chart(curve)))),
      run.games?.rows.length ? this.games(run) : null,
      settings.length ? el("details.card.padded", { open }, el("summary", {}, "Settings"), el("dl.settings", {},
        ...settings.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]))) : null].filter(Boolean));
    const scroll = this.detail.querySelector(".scroll");
    if (scroll) scroll.scrollTop = place;
  }
  games({ run, game, games: { generation, rows } }) {
    const sides = this.table.gameNamed(game).sideNames;
    return el("div.card.padded", {}, el("h3", {}, `Games of generation ${generation}`),
      el("div.scroll", { tabindex: "0" }, tableOf(["#", ...sides, "Result", "Plies", "Replay"], rows.map((row, index) => [
        String(index + 1), row.black, row.white, row.result, String(row.plies),
        el("button.quiet.small.labelled", { "aria-label": `Replay ${index + 1}`, click: () => this.replay(run, generation, index) },
          icon("go"), "Replay")]))));
  }
  async replay(run, generation, index) {
    const read = await ask("run_game", { run, generation, index });
    this.table.open(read, { from: `${run}, generation ${generation}, game ${index + 1}` });
    this.app.show("analysis");
  }
}

function badge(status) {
  return el("span.badge", { class: status, hidden: !status }, status ?? "");
}
