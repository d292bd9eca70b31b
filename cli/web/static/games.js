// Games of a PDN file as a list that is fetched page by page while it scrolls; opening one leads to its analysis.
import { openDialog } from "./dialog.js";
import { el, icon, refill, select } from "./dom.js";
import { t } from "./labels.js";

const ROW = 44, PAGE = 100; // pixels of a row, rows of a request
const PAUSE = 200; // milliseconds without a key before a search
const MOST = 8e6; // bytes that the server reads
const COLUMNS = ["index", "black", "white", "result", "event", "date", "plies"];
const HEADS = { index: "#", result: "result", event: "event", date: "date", plies: "plies" };
const RESULTS = [["", "any result"], ["1-0", "black wins"], ["0-1", "white wins"], ["1/2-1/2", "drawn"], ["*", "unfinished"]];

// Text in UTF-8, or else in the code page of Windows, as older programs write it.
function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

export class GamesView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.wanted = { query: "", result: "", sort: "index" };
    this.rows = new Map();
    this.total = 0;
    this.file = el("input", { type: "file", accept: ".pdn,.txt,.pgn", hidden: true, "aria-label": t("open file"),
      change: () => this.read(this.file.files[0]) });
    this.find = el("input", { type: "search", placeholder: t("find"), "aria-label": t("find"), input: () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.filter({ query: this.find.value }), PAUSE);
    } });
    this.count = el("p.soft.count", { role: "status" });
    this.heads = el("div.game-row.heads", { role: "row" });
    this.space = el("div.game-space");
    this.list = el("div.game-scroll", { tabindex: "0", role: "rowgroup", scroll: () => this.draw(),
      keydown: (event) => event.stopPropagation() }, this.space);
    this.empty = el("div.drop-here", {}, icon("open"), el("p", {}, t("drop file")));
    this.grid = el("div.game-table", { role: "table", "aria-label": t("games") },
      el("div", { role: "rowgroup" }, this.heads), this.list);
    this.filters = el("div.filters", {}, this.find,
      select(RESULTS.map(([value, key]) => [value, t(key)]), "", (result) => this.filter({ result }), { "aria-label": t("result") }));
    this.root = el("section.card.games-view", { "aria-label": t("games") },
      el("div.games-head", {}, el("h2", {}, t("games")),
        el("button.primary.labelled", { click: () => this.file.click() }, icon("open"), t("open file")),
        el("button.quiet", { click: () => this.paste() }, t("paste")), this.file, this.filters, this.count),
      this.empty, this.grid);
    addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      app.show("games");
      this.read(file);
    });
    new ResizeObserver(() => this.draw()).observe(this.list);
    this.table.on("online", ({ yes }) => yes && this.draw()); // rows that were asked for without a connection
    this.drawHeads();
    this.show();
  }

  enter() {
    this.filter({});
  }

  // --- files --------------------------------------------------------------------------------------------

  async read(file) {
    if (file) await this.load(decoded(await file.arrayBuffer()), file.name);
    this.file.value = "";
  }

  async load(text, name) {
    const size = new TextEncoder().encode(text).length;
    if (size > MOST) {
      this.app.toast(t("too large", { name, most: MOST / 1e6, found: (size / 1e6).toFixed(1) }));
      return false;
    }
    this.count.textContent = t("reading", { name });
    const done = await this.app.do("load", { text, name });
    if (!done) this.show();
    this.problems = done?.problems ?? this.problems;
    this.find.value = "";
    await this.filter({ query: "" });
    return Boolean(done);
  }

  paste() {
    const text = el("textarea", { rows: "12", "aria-label": t("paste here"), spellcheck: "false" });
    const dialog = openDialog(t("paste here"), text, el("div.actions", {},
      el("button.quiet", { click: () => dialog.close() }, t("cancel")),
      el("button.primary", { click: async () => {
        if (await this.load(text.value, "pasted.pdn")) dialog.close();
      } }, t("load"))));
  }

  // --- the list -----------------------------------------------------------------------------------------

  async filter(fields) {
    Object.assign(this.wanted, fields);
    this.asking = new Set();
    this.rows = new Map();
    this.list.scrollTop = 0;
    this.drawHeads();
    await this.fetch(0);
  }

  async fetch(offset) {
    const { asking } = this;
    if (asking.has(offset)) return;
    asking.add(offset);
    let page;
    try {
      page = await this.table.ask("list", { ...this.wanted, offset, limit: PAGE });
    } catch (error) {
      asking.delete(offset);
      if (this.all) this.app.fail(error); // before a file is loaded there is no list to ask for
      return;
    }
    if (asking !== this.asking) return;
    page.rows.forEach((row, i) => this.rows.set(offset + i, row));
    this.total = page.total;
    this.all = page.count;
    this.show();
  }

  show() {
    const some = Boolean(this.all);
    this.empty.hidden = some;
    this.grid.hidden = this.filters.hidden = !some;
    const texts = some ? [t("count games", { total: this.total, count: this.all })] : [];
    if (some && this.problems) texts.push(t("problems", { n: this.problems }));
    if (some && !this.total) texts.push(t("nothing found"));
    this.count.textContent = texts.join(" · ");
    this.space.style.height = `${ROW * this.total}px`;
    this.grid.setAttribute("aria-rowcount", this.total + 1);
    this.draw();
  }

  // Only the rows on the screen are in the page.
  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 4);
    const last = Math.min(this.total, first + Math.ceil(this.list.clientHeight / ROW) + 8);
    const rows = [];
    for (let n = first; n < last; n++) {
      const row = this.rows.get(n);
      if (row) rows.push(this.row(row, n));
      else this.fetch(Math.floor(n / PAGE) * PAGE);
    }
    refill(this.space, ...rows);
  }

  row(row, n) {
    const cells = COLUMNS.map((name) => {
      const text = name === "index" ? row.index + 1 : row[name];
      return el("span", { role: "cell", class: name }, name === "black"
        ? el("button.open-game", { "data-key": n, click: () => this.open(row.index) }, String(text || "?")) : String(text || ""));
    });
    const made = el("div.game-row", { role: "row", "aria-rowindex": n + 2, title: row.problem ? t("unreadable", row) : null,
      click: (event) => !event.target.closest("button") && this.open(row.index) }, ...cells);
    if (row.problem) cells[4].prepend(icon("warning"));
    made.style.transform = `translateY(${ROW * n}px)`;
    return made;
  }

  drawHeads() {
    const { sort } = this.wanted;
    const name = sort.replace("-", "");
    const names = this.table.game.sideNames;
    refill(this.heads, ...COLUMNS.map((each) => {
      const text = each === "black" ? names[0] : each === "white" ? names[1] : HEADS[each] === "#" ? "#" : t(HEADS[each]);
      const order = each !== name ? "none" : sort.startsWith("-") ? "descending" : "ascending";
      return el("span", { role: "columnheader", class: each, "aria-sort": order },
        el("button.sort", { "data-key": each, click: () => this.filter({ sort: sort === each ? `-${each}` : each }) },
          text, order === "none" ? "" : order === "ascending" ? " ↑" : " ↓"));
    }));
  }

  async open(index) {
    if (await this.app.do("open", { index })) this.app.show("analysis");
  }
}
