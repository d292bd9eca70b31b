// Your games, and the games of a PDN file, as a list with search; opening one leads to its analysis.
import { el, icon, openDialog, refill, segments, select } from "./dom.js";
import { ask } from "./net.js";
import { storedGames } from "./table.js";
import { count } from "./words.js";

const PAGE = 100, PAUSE = 200, MOST = 8e6; // rows that are added at once, milliseconds before a search, bytes that the server reads
const COLUMNS = { number: "#", black: "", white: "", result: "Result", opening: "Opening", event: "Event", date: "Date", plies: "Plies" };
const RESULTS = [["", "Any result"], ["1-0", "First side won"], ["0-1", "Second side won"], ["1/2-1/2", "Drawn"], ["*", "Unfinished"]];

export class GamesView {
  constructor(app) {
    Object.assign(this, { app, table: app.table, source: "mine", rows: [], file: null, query: "", result: "", sort: "" });
    this.input = el("input", { type: "file", accept: ".pdn,.txt,.pgn", hidden: true, "aria-label": "Open a PDN file",
      change: () => this.read(this.input.files[0]) });
    this.find = el("input", { type: "search", placeholder: "Find", "aria-label": "Find a name, an event or an opening", input: () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => { this.query = this.find.value; this.filter(); }, PAUSE);
    } });
    this.count = el("p.soft.count", { role: "status" });
    this.heads = el("div.game-row.heads", { role: "row" });
    this.body = el("div", { role: "rowgroup" });
    this.list = el("div.game-scroll", { tabindex: "0", keydown: (event) => event.stopPropagation(), scroll: () => {
      if (this.list.scrollTop + this.list.clientHeight > this.list.scrollHeight - 600) this.more();
    } }, el("div", { role: "table", "aria-label": "Games" }, el("div.sticky", { role: "rowgroup" }, this.heads), this.body));
    this.sources = segments("Games", [["mine", "Your games"], ["file", "A PDN file"]], "mine", (source) => {
      Object.assign(this, { source, query: this.find.value = "" });
      if (source === "file" && !this.file) this.input.click();
      this.load();
    });
    this.root = el("section.card.games-view", { "aria-label": "Games" },
      el("div.games-head", {}, app.site.server ? this.sources : el("h2", {}, "Your games"),
        ...(app.site.server ? [el("button.labelled", { click: () => this.input.click() }, icon("open"), "Open a PDN file"),
          el("button.quiet", { click: () => this.paste() }, "Paste"), this.input] : []),
        el("div.filters", {}, this.find, select(RESULTS, "", (result) => { this.result = result; this.filter(); }, { "aria-label": "Result" })),
        this.count), this.list);
    addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files[0] || !app.site.server) return;
      event.preventDefault();
      app.show("games");
      this.read(event.dataTransfer.files[0]);
    });
    this.show();
  }
  enter() { this.load(); }

  // --- what is listed -----------------------------------------------------------------------------------
  async load() {
    const { source } = this;
    this.sources.pick(source);
    let rows = source === "file" ? this.file?.rows ?? [] : this.stored();
    if (source === "mine" && this.app.site.server) ({ rows } = await ask("games"));
    if (source !== this.source) return;
    this.rows = rows.map((row, i) => ({ ...row, i }));
    this.filter();
  }

  // The games in this browser, for a page without a server.
  stored() {
    return storedGames().filter(({ nodes }) => nodes.length > 1).map((data, i) => ({
      ...Object.fromEntries(["black", "white", "event", "date", "opening"].map((name) =>
        [name, data.headers.find(([each]) => each.toLowerCase() === name)?.[1] ?? ""])),
      number: i + 1, result: data.ended?.result ?? data.result, plies: data.nodes.length - 1, data }));
  }
  async read(file) {
    this.input.value = "";
    if (!file) return;
    const bytes = await file.arrayBuffer(), text = new TextDecoder().decode(bytes);
    await this.take(text.includes("\ufffd") ? new TextDecoder("windows-1252").decode(bytes) : text, file.name);
  }
  async take(text, name) {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > MOST) throw new Error(`${name}: expected at most ${MOST / 1e6} MB, found more; split the file`);
    this.count.textContent = `Reading ${name} …`;
    const { rows } = await ask("pdn", { text }).finally(() => this.show());
    Object.assign(this, { file: { name, bytes, rows }, source: "file", query: this.find.value = "" });
    await this.load();
  }
  paste() {
    const text = el("textarea", { rows: "12", "aria-label": "Paste games in PDN", spellcheck: "false" });
    const dialog = openDialog("Paste games in PDN", text, [["Cancel", null, "quiet"], ["Load", async () => {
      await this.take(text.value, "pasted.pdn");
      dialog.close();
    }, "primary"]]);
  }

  // --- the list -----------------------------------------------------------------------------------------
  filter() {
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean), key = this.sort.replace("-", "");
    const text = (row) => [row.black, row.white, row.event, row.date, row.opening].join("\n").toLowerCase();
    this.found = this.rows.filter((row) => (!this.result || row.result === this.result)
      && (!words.length || words.every((word) => text(row).includes(word))));
    if (key) this.found.sort((a, b) => (typeof a[key] === "number" ? a[key] - b[key] : a[key].localeCompare(b[key])));
    if (this.sort.startsWith("-")) this.found.reverse();
    this.show();
  }
  show() {
    const { found = [], rows } = this, names = this.table.game.sideNames;
    this.count.textContent = !rows.length ? this.source === "mine" ? "No games yet: those that you play are listed here."
      : "Open a PDN file, or drop one anywhere on this page." : found.length === rows.length ? count(rows.length, "game")
      : `${found.length} of ${count(rows.length, "game")}`;
    refill(this.heads, ...Object.entries(COLUMNS).map(([name, title]) => {
      const order = this.sort === name ? "ascending" : this.sort === `-${name}` ? "descending" : "none";
      return el("span", { role: "columnheader", class: `of-${name}`, "aria-sort": order }, el("button.sort", { "data-key": name, click: () => {
        this.sort = this.sort === name ? `-${name}` : name;
        this.filter();
      } }, name === "black" ? names[0] : name === "white" ? names[1] : title, { none: "", ascending: " ↑", descending: " ↓" }[order]));
    }));
    this.body.replaceChildren();
    this.list.scrollTop = 0;
    this.more();
  }
  more() {
    const at = this.body.children.length;
    this.body.append(...(this.found ?? []).slice(at, at + PAGE).map((row) => this.row(row)));
  }
  row(row) {
    const open = () => this.open(row);
    return el("div.game-row", { role: "row", click: (event) => !event.target.closest("button") && open() },
      ...Object.keys(COLUMNS).map((name) => el("span", { role: "cell", class: `of-${name}` }, name === "black"
        ? el("button.open-game", { click: open }, String(row.black || "?")) : String(row[name] || ""))));
  }
  async open(row) {
    const { table, app, file } = this;
    if (row.data) table.restore(row.data);
    else if (row.file) {
      const read = await ask("game", { name: row.file, number: row.number });
      table.open(read, read.text ? { file: { name: row.file, text: read.text } } : { from: row.file });
    } else {
      const text = new TextDecoder().decode(file.bytes.slice(row.start, file.rows[row.i + 1]?.start));
      table.open(await ask("read", { text }), { from: `${file.name}, game ${row.number} of ${file.rows.length}` });
    }
    app.show("analysis");
  }
}
