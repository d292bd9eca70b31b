// The page: its views, its messages, its address. Starts when the module is loaded.
import { AnalysisView } from "./analysis.js";
import { el, icon, iconButton, refill } from "./dom.js";
import { Engines } from "./engines.js";
import { GamesView } from "./games.js";
import { InsideView } from "./inside.js";
import { LearnView } from "./learn.js";
import { connect, store, stored } from "./net.js";
import { PlayView } from "./play.js";
import { Referee } from "./referee.js";
import { SetupView } from "./setup.js";
import { Stage } from "./stage.js";
import { storedGames, Table } from "./table.js";

const VIEWS = { play: ["Play", PlayView], analysis: ["Analysis", AnalysisView], setup: ["Set up", SetupView], games: ["Games", GamesView],
  learn: ["Learn", LearnView], inside: ["Inside", InsideView] };
const LOST = "The connection to the engines is lost. Your game is safe in this browser; connecting again …";
const THEME = "ckai-theme", SOUND = "ckai-sound", dark = matchMedia("(prefers-color-scheme: dark)");

class Page {
  constructor(site) {
    Object.assign(this, { site, views: {}, find: (id) => document.getElementById(id) });
    this.engines = new Engines(site);
    this.table = new Table(site.games);
    const games = storedGames(), [, key] = location.hash.split("/"), kept = games.find((each) => each.key === key) ?? games[0];
    if (kept) this.table.restore(kept);
    this.stage = new Stage(this, this.find("stage"));
    this.referee = new Referee(this);
    this.names = Object.keys(VIEWS).filter((name) => site.server || !["learn", "inside"].includes(name));
    this.links = this.names.map((name) => el("a", { href: `#${name}`, click: (event) => {
      if (event.ctrlKey || event.shiftKey || event.metaKey) return; // another tab or window
      event.preventDefault();
      this.show(name);
    } }, icon(name), el("span", {}, VIEWS[name][0])));
    this.buttons = el("div.theme");
    this.find("top").append(el("h1.brand", {}, "ckai"), el("nav", { "aria-label": "Views" }, ...this.links), this.buttons);
    this.drawButtons();
    dark.addEventListener("change", () => this.drawButtons());
    this.table.on("state", () => this.address());
    if (site.server) connect((yes) => this.connected(yes));
    else navigator.serviceWorker?.register("worker.js"); // the page opens without a network from now on
    addEventListener("unhandledrejection", (event) => { // such as what the server refuses
      if (event.reason?.constructor !== Error) return; // a fault of the page itself
      event.preventDefault();
      this.toast(event.reason.message);
    });
    addEventListener("hashchange", () => this.show(this.named()));
    addEventListener("keydown", (event) => { // left and right step through the game wherever nothing else takes them
      if (event.defaultPrevented || event.target.closest("input, textarea, select, dialog, [role=tablist]")) return;
      this.views[this.view]?.moves?.key(event);
    });
    this.show(this.named());
  }

  // The view that the address names.
  named() {
    const [name] = location.hash.slice(1).split("/");
    return this.names.includes(name) ? name : this.table.mode === "analysis" && !this.table.empty ? "analysis" : "play";
  }
  address() { history.replaceState(null, "", `#${this.view}/${this.table.key}`); }

  /** Show a view by its name. */
  show(name) {
    const old = this.views[this.view], view = this.views[name] ??= new VIEWS[name][1](this), wide = name === "games";
    if (old === view) return;
    if (old) old.active = false;
    old?.leave?.();
    this.view = name;
    view.active = true;
    for (const link of this.links) link.removeAttribute("aria-current");
    this.links[this.names.indexOf(name)].setAttribute("aria-current", "page");
    document.title = `${VIEWS[name][0]} · ckai`;
    document.body.dataset.view = name;
    this.address();
    this.find("stage").hidden = wide;
    this.find("panel").classList.toggle("wide", wide);
    this.find("panel").replaceChildren(view.root);
    scrollTo(0, 0);
    view.enter?.();
  }

  // --- light and dark, sound ----------------------------------------------------------------------------
  drawButtons() {
    const { dataset } = document.documentElement, kept = stored(THEME), on = stored(SOUND) === true;
    if (kept === "light" || kept === "dark") dataset.theme = kept;
    const other = (dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
    const button = (key, value, drawing, label) => iconButton(drawing, label, () => {
      store(key, value);
      this.drawButtons();
    }, { "data-key": key });
    refill(this.buttons, button(SOUND, !on, on ? "sound" : "mute", `Switch sounds ${on ? "off" : "on"}`),
      button(THEME, other, other === "light" ? "sun" : "moon", other === "light" ? "Light colours" : "Dark colours"));
  }

  /** The click of a man on the board, if sounds are switched on. */
  sound() {
    if (stored(SOUND) !== true) return;
    this.audio ??= new AudioContext();
    const tone = this.audio.createOscillator(), gain = this.audio.createGain(), now = this.audio.currentTime;
    for (const [what, from, to] of [[tone.frequency, 420, 120], [gain.gain, 0.25, 0.001]]) {
      what.setValueAtTime(from, now);
      what.exponentialRampToValueAtTime(to, now + 0.09);
    }
    tone.connect(gain).connect(this.audio.destination);
    tone.start(now);
    tone.stop(now + 0.1);
  }

  // --- messages -----------------------------------------------------------------------------------------
  /** Tell screen readers. */
  say(text) { this.find("live").textContent = text; }

  /** Show a message for a while. */
  toast(text, milliseconds = 4500) {
    const box = this.find("toast");
    clearTimeout(this.hiding);
    box.textContent = text;
    box.classList.add("shown");
    this.hiding = setTimeout(() => box.classList.remove("shown"), milliseconds);
  }

  copy(text) {
    navigator.clipboard.writeText(text).then(() => this.toast("Copied."),
      () => this.toast("The browser did not allow copying: select the text and copy it."));
  }
  download(text, name) {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  connected(yes) {
    clearTimeout(this.alarm);
    if (yes) this.find("toast").classList.remove("shown");
    else this.alarm = setTimeout(() => this.toast(LOST, 60000), 600);
  }
}

fetch("site.json").then((answer) => answer.json()).then((site) => new Page(site));
