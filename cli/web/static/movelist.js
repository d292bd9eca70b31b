// The moves of a game as a tree: the main line, variations below their moves, comments and signs.
import { el, iconButton } from "./dom.js";
import { moveName, sideName, t } from "./labels.js";

export const SIGNS = { 1: "!", 2: "?", 3: "!!", 4: "??", 5: "!?", 6: "?!" };

export class MoveList {
  /** @param whole whether variations are shown while a game is played, and moves that were taken back. */
  constructor(app, whole = true) {
    this.whole = whole;
    this.app = app;
    this.table = app.table;
    this.list = el("div.moves", {
      tabindex: "0", role: "group", "aria-label": t("moves"), keydown: (event) => this.key(event),
      click: (event) => {
        const button = event.target.closest("button.move");
        if (button) this.go(Number(button.dataset.node));
      },
    });
    const step = (name, where) => iconButton(name, t(name), () => this.step(where));
    this.root = el("div.move-list", {}, this.list, el("div.steps", {},
      step("first", "first"), step("back", "back"), step("next", "next"), step("last", "last"),
      iconButton("flip", t("flip"), () => app.stage.flip())));
    new ResizeObserver(() => this.current && this.reveal(this.current)).observe(this.list);
    this.table.on("state", (state) => this.update(state.nodes !== null));
    this.table.on("values", () => this.update(true));
    if (this.table.state) this.update(true);
  }

  /** Show a node. */
  go(node) {
    if (node !== null && node !== undefined && node !== this.table.state.node) this.app.do("go", { node });
  }

  step(where) {
    const { line } = this.table.state;
    const to = { first: line[0], back: this.table.stepped(-1), next: this.table.stepped(1), last: line.at(-1) };
    this.go(to[where]);
  }

  key(event) {
    const where = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" }[event.key];
    if (!where || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.step(where);
  }

  update(nodes) {
    const { state } = this.table;
    const line = state.line.join();
    if (nodes || line !== this.drawnLine) this.draw();
    this.drawnLine = line;
    const current = this.current;
    const next = this.list.querySelector(`[data-node="${state.node}"]`);
    if (current !== next) {
      current?.removeAttribute("aria-current");
      next?.setAttribute("aria-current", "step");
    }
    if (next) this.reveal(next);
    else this.list.scrollTop = 0;
  }

  get current() {
    return this.list.querySelector("[aria-current]");
  }

  // Scrolls the list alone, not the page; on phones it is one line.
  reveal(button) {
    const { list } = this;
    const top = button.offsetTop, left = button.offsetLeft;
    if (top < list.scrollTop + 8 || top > list.scrollTop + list.clientHeight - 40) {
      list.scrollTop = top - list.clientHeight / 2;
    }
    if (list.scrollWidth > list.clientWidth) list.scrollLeft = left - list.clientWidth / 2;
  }

  draw() {
    const root = this.table.nodes.values().next().value;
    const parts = [];
    if (root.comment) parts.push(el("p.comment", {}, root.comment));
    const { mode, line } = this.table.state;
    this.shown = this.whole || mode !== "play" ? null : new Set(line);
    if (this.child(root, 0)) this.line(root, parts);
    else if (!root.comment) parts.push(el("p.soft", {}, t("no moves")));
    this.list.replaceChildren(...parts);
  }

  // Adds the moves after a node; the other children of each follow the main one as variations.
  line(parent, parts, first = null) {
    let row = null, numbered = true;
    const put = (element) => {
      if (!row) parts.push(row = el("div.line-of-moves"));
      row.append(element);
    };
    let node = first ?? this.child(parent, 0);
    while (node) {
      put(this.move(node, numbered || node.side === "black"));
      numbered = false;
      if (node.comment) {
        put(el("span.comment", {}, node.comment));
        numbered = true;
      }
      if (node !== first) {
        for (const other of this.shown ? [] : parent.children.slice(1)) {
          const inner = [];
          this.line(parent, inner, this.table.nodes.get(other));
          parts.push(el("div.variation", {}, ...inner));
          row = null;
          numbered = true;
        }
      }
      parent = node;
      node = this.child(parent, 0);
    }
  }

  child(node, n) {
    const children = node.children.filter((id) => !this.shown || this.shown.has(id));
    return this.table.nodes.get(children[n]) ?? null;
  }

  move(node, numbered) {
    const signs = node.nags.map((nag) => SIGNS[nag] ?? `$${nag}`).join(" ");
    const { game } = this.table;
    const grade = node.nags.find((nag) => nag in SIGNS);
    return el("span.numbered", {}, numbered ? el("span.number-of-move", {}, node.number) : null,
      el("button.move", {
        "data-node": node.id, tabindex: "-1", class: grade ? `nag-${grade}` : null,
        "aria-label": `${sideName(game, node.side)}, ${moveName(game, node)}`,
      }, node.move, signs ? el("b", {}, signs) : null));
  }
}
