// Signs and comments on the move shown, the order of variations, and the game as a file.
import { confirmed } from "./dialog.js";
import { el, iconButton, refill } from "./dom.js";
import { t } from "./labels.js";
import { SIGNS } from "./movelist.js";
import { askNewGame } from "./newgame.js";

const PAUSE = 700; // milliseconds without a key before a comment is sent
const LONGEST = 10_000; // characters, as the server has it

export class Annotations {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.signs = el("div.signs");
    this.comment = el("textarea.comment-field", { rows: "2", maxlength: String(LONGEST), input: () => this.typed(), blur: () => this.send() });
    this.tools = el("div.tools");
    /** What can be done with the game as a whole. */
    this.files = el("div.tools");
    this.root = el("div.annotations", {}, this.signs, this.tools, this.comment);
    this.table.on("state", () => this.update());
    this.update();
  }

  update() {
    const { state, node, game, place } = this.table;
    const { app } = this;
    const able = game.abilities.annotations;
    if (this.typing && (this.typing.place !== place || this.offline)) this.send();
    this.signs.hidden = !able || node.parent === null;
    refill(this.signs, ...Object.entries(SIGNS).map(([nag, sign]) => el("button.sign", {
      "aria-label": t(`nag ${nag}`), title: t(`nag ${nag}`), "aria-pressed": String(node.nags.includes(Number(nag))),
      click: () => app.do("nag", { node: node.id, nag: Number(nag) }),
    }, sign)));
    this.comment.hidden = !able;
    this.comment.placeholder = t("comment");
    this.comment.setAttribute("aria-label", t("comment on", { move: node.move || t("first position") }));
    const kept = this.typing?.place === place; // typed here, and not sent yet
    if (!kept && (document.activeElement !== this.comment || this.of !== place)) this.comment.value = node.comment;
    this.of = place;
    const variation = state.line.some((id) => {
      const each = this.table.nodes.get(id);
      return each.parent !== null && this.table.nodes.get(each.parent).children[0] !== id
        && this.lineTo(node.id).includes(id);
    });
    refill(this.tools,
      iconButton("up", t("promote"), () => app.do("promote", { node: node.id }), { disabled: !variation }),
      iconButton("trash", t("remove"), () => this.remove(), { disabled: node.parent === null }));
    refill(this.files,
      iconButton("copy", t("copy fen"), () => app.copy(state.fen)),
      iconButton("download", t("download"), () => this.download()),
      iconButton("save", t("save"), () => this.save()),
      iconButton("go", t("play on"), () => askNewGame(app, "node")));
  }

  // The nodes from the first move to a node.
  lineTo(id) {
    const line = [];
    for (let node = this.table.nodes.get(id); node; node = this.table.nodes.get(node.parent)) line.push(node.id);
    return line;
  }

  typed() {
    clearTimeout(this.timer);
    const { place, state: { tree, node } } = this.table;
    this.typing = { place, tree, node };
    this.text = this.comment.value;
    this.timer = setTimeout(() => this.send(), PAUSE);
  }

  async send() {
    clearTimeout(this.timer);
    if (!this.typing) return;
    const { typing } = this, { connection } = this.table;
    this.offline = !connection.ready; // then the state that comes with the connection sends it
    if (this.offline) return;
    this.typing = null;
    const done = await this.app.do("comment", { tree: typing.tree, node: typing.node, text: this.text });
    if (done || connection.ready || this.typing) return;
    this.typing = typing; // lost on the way
    this.offline = true;
  }

  async remove() {
    const { node } = this.table;
    if (await confirmed(t("remove"), t("remove?", { move: `${node.number} ${node.move}` }), t("remove"))) {
      this.app.do("remove", { node: node.id });
    }
  }

  async save() {
    const done = await this.app.do("save");
    if (done) this.app.toast(t("saved as", done));
  }

  async download() {
    const done = await this.app.do("pdn");
    if (!done) return;
    const link = el("a", { href: URL.createObjectURL(new Blob([done.text], { type: "text/plain" })), download: done.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
