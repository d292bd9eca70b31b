// The moves of a game as a tree: the main line, variations below their moves, comments and signs.
import { el, iconButton } from "./dom.js";
import { moveName, sideName } from "./words.js";

export const SIGNS = { 1: "!", 2: "?", 3: "!!", 4: "??", 5: "!?", 6: "?!" };
const STEPS = { first: "First position", back: "One move back", next: "One move on", last: "Last position" };

export class MoveList {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.list = el("div.moves", {
      tabindex: "0", role: "group", "aria-label": "Moves", keydown: (event) => this.key(event),
      click: (event) => {
        const button = event.target.closest("button.move");
        if (button) this.table.go(this.nodes.get(button.dataset.node));
      },
    });
    this.root = el("div.move-list", {}, this.list, el("div.steps", {},
      ...Object.entries(STEPS).map(([where, text]) => iconButton(where, text, () => this.table.step(where))),
      iconButton("flip", "Turn the board", () => app.stage.flip())));
    new ResizeObserver(() => this.current && this.reveal(this.current)).observe(this.list);
    this.table.on("state", () => this.update());
    this.update();
  }
  key(event) {
    const where = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" }[event.key];
    if (!where || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.table.step(where);
  }
  update() {
    const { table } = this, drawn = `${table.key}/${table.fresh}/${table.mode}/${table.line.map(({ id }) => id)}`;
    if (drawn !== this.drawn) this.draw();
    this.drawn = drawn;
    const { current } = this, next = this.list.querySelector(`[data-node="${table.node.id}"]`);
    if (current !== next) {
      current?.removeAttribute("aria-current");
      next?.setAttribute("aria-current", "step");
    }
    if (next) this.reveal(next);
    else this.list.scrollTop = this.list.scrollLeft = 0;
  }
  get current() { return this.list.querySelector("[aria-current]"); }

  // Scrolls the list alone, not the page; on phones it is one line.
  reveal(button) {
    const { list } = this, top = button.offsetTop, left = button.offsetLeft;
    if (top < list.scrollTop + 8 || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - list.clientHeight / 2;
    if (list.scrollWidth > list.clientWidth) list.scrollLeft = left - list.clientWidth / 2;
  }
  draw() {
    const { root, mode, line } = this.table, parts = [];
    if (root.comment) parts.push(el("p.comment", {}, root.comment));
    this.shown = mode === "play" ? new Set(line) : null;
    this.nodes = new Map();
    if (this.children(root).length) this.line(root, parts);
    else if (!root.comment) parts.push(el("p.soft", {}, "No moves yet."));
    this.list.replaceChildren(...parts);
  }

  // While a game is played, its own moves alone are shown.
  children(node) { return node.children.filter((each) => !this.shown || this.shown.has(each)); }

  // Adds the moves after a node; the other children of each follow the main one as variations.
  line(parent, parts, first = null) {
    let row = null, numbered = true;
    const put = (element) => {
      if (!row) parts.push(row = el("div.line-of-moves"));
      row.append(element);
    };
    let node = first ?? this.children(parent)[0];
    while (node) {
      const side = this.table.turn(parent);
      put(this.move(node, side, numbered || side === "black"));
      numbered = Boolean(node.comment);
      if (node.comment) put(el("span.comment", {}, node.comment));
      for (const other of node === first ? [] : this.children(parent).slice(1)) {
        const inner = [];
        this.line(parent, inner, other);
        parts.push(el("div.variation", {}, ...inner));
        row = null;
        numbered = true;
      }
      parent = node;
      [node] = this.children(parent);
    }
  }
  move(node, side, numbered) {
    this.nodes.set(String(node.id), node);
    const signs = node.nags.map((nag) => SIGNS[nag] ?? `$${nag}`).join(" "), grade = node.nags.find((nag) => nag in SIGNS);
    return el("span.numbered", { class: numbered && side === "white" ? "second" : null },
      numbered ? el("span.number-of-move", {}, this.table.number(node)) : null,
      el("button.move", { "data-node": node.id, tabindex: "-1", class: grade ? `nag-${grade}` : null,
        "aria-label": `${sideName(this.table.game, side)}, ${moveName(node)}` }, node.move, signs ? el("b", {}, signs) : null));
  }
}
