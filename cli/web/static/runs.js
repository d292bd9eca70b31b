// Runs of self-play and of pretraining, followed while they go: curves, ratings, the newest games.
import { table } from "./analysis.js";
import { chart } from "./chart.js";
import { el, icon, refill } from "./dom.js";
import { t } from "./labels.js";

const STATUS = { running: "running", finished: "finished", unfinished: "unfinished run" };
const PAUSE = 5000; // milliseconds until the list is asked for again

export class RunsView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.list = el("div.run-list");
    this.detail = el("div.run-detail");
    this.root = el("section.runs-view", { "aria-label": t("runs") }, el("h2.visually-hidden", {}, t("runs")), this.list, this.detail);
    this.table.on("run", (run) => this.show(run));
    this.table.on("online", ({ yes }) => yes && this.active && this.enter());
  }

  async enter() {
    this.active = true;
    this.following = false;
    if (!this.runs) this.list.replaceChildren(el("p.card.soft.padded", {}, t("looking for runs")));
    await this.look();
  }

  leave() {
    this.active = false;
    clearTimeout(this.timer);
    this.app.do("unfollow");
  }

  // Poll the list of runs.
  async look() {
    clearTimeout(this.timer);
    const answer = this.table.connection.ready ? await this.app.do("runs") : null;
    if (!this.active) return;
    if (answer) this.take(answer.runs);
    this.timer = setTimeout(() => this.look(), PAUSE);
  }

  take(runs) {
    const changed = JSON.stringify(runs) !== JSON.stringify(this.runs);
    this.runs = runs;
    const run = runs.some((each) => each.run === this.followed) ? this.followed : runs[0]?.run;
    if (run && (run !== this.followed || !this.following)) this.follow(run);
    else if (changed || !run) this.drawList();
    if (!run) this.detail.replaceChildren();
  }

  follow(run) {
    this.followed = run;
    this.following = true;
    this.drawList();
    this.app.do("follow", { run });
  }

  drawList() {
    refill(this.list, ...(this.runs.length ? this.runs.map((each) => el("button.run-item.card", {
      "data-key": each.run,
      "aria-current": each.run === this.followed ? "true" : null, click: () => this.follow(each.run),
    }, el("b", {}, each.run), badge(each.status), el("span.soft", {}, `${t(each.kind)} · ${each.text}`)))
      : [el("p.card.soft.padded", {}, t("no runs"))]));
  }

  show(run) {
    if (!this.active || run.run !== this.followed) return;
    const place = this.detail.querySelector(".scroll")?.scrollTop ?? 0;
    const parts = [el("div.card.padded.run-head", {}, el("h2", {}, run.run), badge(run.status),
      el("p", { role: "status" }, run.text), run.problem ? el("p.error", {}, run.problem) : null)];
    const charts = run.curves.filter(({ x }) => x.length).map((curve) => chart({ ...curve, title: curve.name }));
    if (run.elo.length) charts.unshift(this.elo(run.elo));
    parts.push(el("div.charts", {}, ...charts.map((each) => el("div.card.padded", {}, each))));
    if (run.games?.rows.length) parts.push(this.games(run));
    const settings = Object.entries(run.settings);
    if (settings.length) {
      parts.push(el("details.card.padded", { open: this.detail.querySelector("details")?.open },
        el("summary", {}, t("settings")), el("dl.settings", {}, ...settings.flatMap(([name, value]) =>
          [el("dt", {}, name), el("dd", {}, String(value))]))));
    }
    this.detail.replaceChildren(...parts);
    const scroll = this.detail.querySelector(".scroll");
    if (scroll) scroll.scrollTop = place;
    const listed = this.runs.find((each) => each.run === run.run);
    if (run.problem || (listed.status === run.status && listed.text === run.text)) return;
    Object.assign(listed, { status: run.status, text: run.text });
    this.drawList();
  }

  // The sum over the generations, with the interval of the match by which each network was accepted.
  elo(rows) {
    const bound = (name) => rows.map((row) => (row.accepted ? row.total + (row[name] === null ? 0 : row[name] - row.elo) : null));
    return chart({
      title: t("elo"), xlabel: t("generation"), ylabel: t("total elo"), x: rows.map((row) => row.generation),
      series: [{ name: t("total elo"), y: rows.map((row) => row.total),
        low: bound("low"), high: bound("high") }],
    });
  }

  games({ run, game, games: { generation, rows } }) {
    const sides = (this.table.gameNamed(game) ?? this.table.game).sideNames;
    return el("div.card.padded", {}, el("h3", {}, t("newest games", { n: generation })),
      el("div.scroll", {}, table(["#", sides[0], sides[1], t("result"), t("plies"), t("replay")], rows.map((row) => [
        String(row.index + 1), row.black, row.white, row.result, String(row.plies),
        el("button.quiet.small.labelled", { "aria-label": `${t("replay")} ${row.index + 1}`, click: async () => {
          if (await this.app.do("rungame", { run, generation, index: row.index })) this.app.show("analysis");
        } }, icon("go"), t("replay")),
      ]))));
  }
}

function badge(status) {
  return el("span.badge", { class: status, hidden: !status }, status ? t(STATUS[status]) : "");
}
