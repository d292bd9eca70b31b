// The moves of a game as a tree: the main line, variations below their moves, comments and signs.
import { el, iconButton } from "./dom.js";
import { ordered } from "./pdn.js";
import { moveName, sideName } from "./words.js";

export const SIGNS = { 1: ["!", "good move"], 2: ["?", "mistake"], 3: ["!!", "very good move"], 4: ["??", "blunder"],
  5: ["!?", "interesting move"], 6: ["?!", "doubtful move"] }; // by their numbers in PDN
const STEPS = { first: "First position", back: "One move back", next: "One move on", last: "Last position" };

export class MoveList {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.list = el("div.moves", { tabindex: "0", role: "group", "aria-label": "Moves" });
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
    const { root, mode, line } = this.table, own = mode === "play" ? new Set(line) : null; // while a game is played, its own moves
    let box = this.list, row = null;
    const put = (element) => {
      if (!row) box.append(row = el("div.line-of-moves"));
      row.append(element);
    };
    box.replaceChildren(...(root.comment ? [el("p.comment", {}, root.comment)] : []));
    for (const each of ordered((node) => node.children.filter((child) => !own || own.has(child)), root)) {
      if (typeof each === "string") {
        const inner = el("div.variation");
        if (each === "(") box.append(inner);
        box = each === "(" ? inner : box.parentNode;
        row = null;
      } else {
        const [node, numbered] = each, side = this.table.turn(node.parent);
        put(this.move(node, side, numbered || side === "black"));
        if (node.comment) put(el("span.comment", {}, node.comment));
      }
    }
    if (!box.children.length) box.append(el("p.soft", {}, "No moves yet."));
  }
  move(node, side, numbered) {
    const signs = node.nags.map((nag) => SIGNS[nag]?.[0] ?? `$${nag}`).join(" "), grade = node.nags.find((nag) => nag in SIGNS);
    return el("span.numbered", { class: numbered && side === "white" ? "second" : null },
      numbered ? el("span.number-of-move", {}, this.table.number(node)) : null,
      el("button.move", { "data-node": node.id, tabindex: "-1", click: () => this.table.go(node), class: grade ? `nag-${grade}` : null,
        "aria-label": `${sideName(this.table.game, side)}, ${moveName(node)}` }, node.move, signs ? el("b", {}, signs) : null));
  }
}
