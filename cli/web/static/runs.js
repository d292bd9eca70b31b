// Runs of self-play and of pretraining, followed while they go: curves, ratings, the newest games.
import { table } from "./analysis.js";
import { chart } from "./chart.js";
import { el, icon } from "./dom.js";
import { t } from "./labels.js";

const STATUS = { running: "running", finished: "finished", unfinished: "unfinished run" };

export class RunsView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.list = el("div.run-list");
    this.detail = el("div.run-detail");
    this.root = el("section.runs-view", { "aria-label": t("runs") }, el("h2.unseen", {}, t("runs")), this.list, this.detail);
    this.table.on("run", (run) => this.show(run));
    this.table.on("online", ({ yes }) => yes && this.active && this.enter());
  }

  async enter() {
    this.active = true;
    const answer = await this.app.do("runs");
    if (!answer || !this.active) return;
    this.runs = answer.runs;
    if (!this.runs.some(({ run }) => run === this.followed)) this.followed = this.runs[0]?.run;
    this.drawList();
    if (this.followed) this.app.do("follow", { run: this.followed });
    else this.detail.replaceChildren();
  }

  leave() {
    this.active = false;
    this.app.do("unfollow");
  }

  drawList() {
    this.list.replaceChildren(...(this.runs.length ? this.runs.map((each) => el("button.run-item.card", {
      "aria-current": each.run === this.followed ? "true" : null,
      click: () => {
        this.followed = each.run;
        this.drawList();
        this.app.do("follow", { run: each.run });
      },
    }, el("b", {}, each.run), el("span.badge", { class: each.status }, t(STATUS[each.status])),
    el("span.soft", {}, `${t(each.kind)} · ${each.text}`))) : [el("p.card.soft.padded", {}, t("no runs"))]));
  }

  show(run) {
    if (run.run !== this.followed) return;
    const parts = [el("div.card.padded.run-head", {}, el("h2", {}, run.run),
      el("span.badge", { class: run.status }, t(STATUS[run.status])), el("p", { role: "status" }, run.text),
      run.problem ? el("p.error", {}, run.problem) : null)];
    const charts = run.curves.filter(({ x }) => x.length).map((curve) => chart({ ...curve, title: curve.name }));
    if (run.elo.length) charts.unshift(this.elo(run.elo));
    parts.push(el("div.charts", {}, ...charts.map((each) => el("div.card.padded", {}, each))));
    if (run.games?.rows.length) parts.push(this.games(run));
    const settings = Object.entries(run.settings ?? {});
    if (settings.length) {
      parts.push(el("details.card.padded", { open: this.detail.querySelector("details")?.open },
        el("summary", {}, t("settings")), el("dl.settings", {}, ...settings.flatMap(([name, value]) =>
          [el("dt", {}, name), el("dd", {}, String(value))]))));
    }
    this.detail.replaceChildren(...parts);
  }

  // The sum over the generations, with the interval of the last match around it.
  elo(rows) {
    return chart({
      title: t("elo"), xlabel: t("generation"), ylabel: t("total elo"), x: rows.map((row) => row.generation),
      series: [{ name: t("total elo"), y: rows.map((row) => row.total),
        low: rows.map((row) => row.total - row.elo + row.low), high: rows.map((row) => row.total - row.elo + row.high) }],
    });
  }

  games({ run, games: { generation, rows } }) {
    const sides = this.table.game.sideNames;
    return el("div.card.padded", {}, el("h3", {}, t("newest games", { n: generation })),
      el("div.scroll", {}, table(["#", sides[0], sides[1], t("result"), t("plies"), t("replay")], rows.map((row) => [
        String(row.index + 1), row.black, row.white, row.result, String(row.plies),
        el("button.quiet.small.labelled", { "aria-label": `${t("replay")} ${row.index + 1}`, click: async () => {
          if (await this.app.do("rungame", { run, generation, index: row.index })) this.app.show("analysis");
        } }, icon("go"), t("replay")),
      ]))));
  }
}
