// The page: its views, its messages, its address. Starts when the module is loaded.
import { AnalysisView } from "./analysis.js";
import { el, icon } from "./dom.js";
import { GamesView } from "./games.js";
import { InsideView } from "./inside.js";
import { t } from "./labels.js";
import { PlayView } from "./play.js";
import { RunsView } from "./runs.js";
import { SetupView } from "./setup.js";
import { Stage } from "./stage.js";
import { Table } from "./table.js";
import { themeButton } from "./theme.js";

const VIEWS = {
  play: PlayView, analysis: AnalysisView, setup: SetupView, games: GamesView, inside: InsideView, runs: RunsView,
};
const WIDE = new Set(["games", "runs"]); // views without the board beside them
const TOAST = 4500; // milliseconds

class Page {
  constructor() {
    this.find = (id) => document.getElementById(id);
    this.table = new Table();
    this.stage = new Stage(this, this.find("stage"));
    this.views = {};
    this.banner = this.find("banner");
    this.links = Object.keys(VIEWS).map((name) => el("a", { href: `#${name}`, click: (event) => {
      if (event.ctrlKey || event.shiftKey || event.metaKey) return; // another tab or window
      event.preventDefault();
      this.show(name);
    } }, icon(name), el("span", {}, t(name))));
    this.find("top").append(el("h1.brand", {}, "ckai"), el("nav", { "aria-label": t("views") }, ...this.links),
      themeButton());
    this.table.on("key", (key) => this.address(key));
    this.table.on("online", (online) => this.connected(online));
    this.table.on("status", (status) => this.progress(status));
    this.table.on("closed", (message) => this.toast(message.text));
    this.table.on("error", (message) => this.fail(new Error(message.text)));
    this.table.on("state", () => this.began());
    addEventListener("hashchange", () => this.show(this.named()));
    addEventListener("keydown", (event) => this.key(event));
    this.view = this.named();
    this.mark();
    this.table.connection.open();
  }

  // The view that the address names.
  named() {
    const name = location.hash.slice(1).split("/")[0];
    return name in VIEWS ? name : "play";
  }

  address(key = this.table.key) {
    history.replaceState(null, "", `#${this.view}/${key}`);
  }

  began() {
    if (!this.views[this.view]) this.show(this.view);
  }

  /** Show a view by its name. */
  show(name) {
    const old = this.views[this.view];
    if (this.view !== name) old?.leave?.();
    this.view = name;
    this.mark();
    if (!this.table.state) return;
    this.address();
    const view = this.views[name] ??= new VIEWS[name](this);
    document.body.dataset.view = name;
    this.find("stage").hidden = WIDE.has(name);
    this.find("panel").classList.toggle("wide", WIDE.has(name));
    this.find("panel").replaceChildren(view.root);
    if (old !== view) scrollTo(0, 0);
    view.enter?.();
  }

  mark() {
    Object.keys(VIEWS).forEach((name, i) => {
      if (name === this.view) this.links[i].setAttribute("aria-current", "page");
      else this.links[i].removeAttribute("aria-current");
    });
    document.title = `${t(this.view)} · ckai`;
  }

  // --- messages -----------------------------------------------------------------------------------------

  /** Ask the server; a problem becomes a message and the answer null. */
  async do(type, fields = {}) {
    try {
      return await this.table.ask(type, fields);
    } catch (error) {
      this.fail(error);
      return null;
    }
  }

  /** Tell screen readers. */
  say(text) {
    this.find("live").textContent = text;
  }

  /** Show a message for a while. */
  toast(text) {
    const box = this.find("toast");
    clearTimeout(this.hiding);
    box.textContent = text;
    box.classList.add("shown");
    this.hiding = setTimeout(() => box.classList.remove("shown"), TOAST);
  }

  /** Show what went wrong. */
  fail(error) {
    this.toast(error.message);
  }

  /** Copy a text. */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.toast(t("copied"));
    } catch {
      this.toast(t("copy failed"));
    }
  }

  connected({ yes, reason }) {
    clearTimeout(this.alarm);
    if (yes) this.warn(null);
    else if (reason === "elsewhere") {
      this.warn(t("elsewhere"), el("button.quiet", { click: () => this.table.connection.open() }, t("back here")));
    } else this.alarm = setTimeout(() => this.warn(t("reconnecting")), 400);
  }

  progress({ text, ready }) {
    if (ready && text) {
      this.toast(text);
      return;
    }
    if (!this.table.connection.ready && !ready) return;
    this.warn(text || null);
  }

  warn(text, ...more) {
    this.banner.hidden = text === null;
    this.banner.replaceChildren(...(text === null ? [] : [el("span", {}, text), ...more]));
  }

  // Left and right step through the game wherever nothing else takes them.
  key(event) {
    if (event.defaultPrevented || event.target.closest("input, textarea, select, dialog, [role=tablist]")) return;
    const view = this.views[this.view];
    view?.moves?.key(event);
  }
}

new Page();
