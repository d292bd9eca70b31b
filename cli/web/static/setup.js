// Positions set up by hand: a tray of pieces, the side to move, the position as text.
import { svgElement } from "./board.js";
import { el, icon, iconButton, refill } from "./dom.js";
import { pieceName, sideName, t } from "./labels.js";
import { askNewGame } from "./newgame.js";

const PAUSE = 150; // milliseconds before a changed position is checked

export class SetupView {
  constructor(app) {
    this.app = app;
    this.table = app.table;
    this.root = el("section.card.setup-view", { "aria-label": t("setup") });
    this.table.on("state", (state) => {
      if (app.view === "setup" && (state.game !== this.game)) this.enter();
    });
  }

  enter() {
    const { state, game } = this.table;
    this.game = game.name;
    if (!game.abilities.setup) {
      this.root.replaceChildren(el("p.soft", {}, t("no setup", { game: game.title })));
      return;
    }
    this.pieces = { ...state.pieces };
    this.turn = state.turn;
    this.tool = "b";
    this.app.stage.lend(this);
    this.build();
    this.redraw();
  }

  leave() {
    this.app.stage.lend(null);
  }

  // --- the board ----------------------------------------------------------------------------------------

  /** Put a piece on a square, take it away, or move it there; `square` is null off the board. */
  edit(square, from) {
    if (from !== null) {
      if (square === from) return this.show();
      const letter = this.pieces[from];
      delete this.pieces[from];
      if (square !== null && letter) this.pieces[square] = letter;
    } else if (square !== null) {
      if (!this.tool || this.pieces[square] === this.tool) delete this.pieces[square];
      else this.pieces[square] = this.tool;
    }
    return this.redraw();
  }

  show() {
    const { board, input } = this.app.stage;
    board.show(this.pieces);
    input.name(this.pieces);
  }

  redraw() {
    this.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check({ pieces: this.pieces, turn: this.turn }), PAUSE);
  }

  async check(position) {
    clearTimeout(this.timer); // what was to be checked is out of date
    const asked = this.asked = {};
    try {
      const { fen, pieces, turn, legal } = await this.table.ask("check", position);
      if (asked !== this.asked) return;
      if (document.activeElement !== this.text || position.fen) this.text.value = fen;
      if (position.fen) {
        Object.assign(this, { pieces, turn });
        this.show();
      }
      this.tell(legal === 1 ? t("one legal move") : t("legal moves", { n: legal }), true);
      this.drawTurn();
    } catch (error) {
      if (asked === this.asked) this.tell(error.message, false);
    }
  }

  tell(text, good) {
    this.message.textContent = text;
    this.message.classList.toggle("error", !good);
    for (const button of this.uses) button.disabled = !good;
  }

  // --- the panel ----------------------------------------------------------------------------------------

  build() {
    const { game } = this.table;
    const letters = game.kings ? ["b", "B", "w", "W"] : ["b", "w"];
    const tools = [...letters, ""].map((letter) => {
      const name = letter ? pieceName(game, letter) : t("erase");
      const button = el("button.tray-piece", { "aria-label": name, title: name, click: () => choose(letter) },
        letter ? this.picture(letter) : icon("trash"));
      button.addEventListener("pointerdown", (event) => this.carry(event, letter));
      return [letter, button];
    });
    const choose = (letter) => {
      this.tool = letter;
      for (const [each, button] of tools) button.setAttribute("aria-pressed", String(each === letter));
    };
    this.sides = el("div.segments");
    this.text = el("input", { type: "text", spellcheck: "false", autocomplete: "off", "aria-label": t("position text"),
      change: () => this.check({ fen: this.text.value }),
      keydown: (event) => event.key === "Enter" && this.check({ fen: this.text.value }) });
    this.message = el("p.message", { role: "status" });
    const use = (label, click, name) => el("button", { class: name, click }, t(label));
    this.uses = [use("analyse this", () => this.use(() => this.app.show("analysis")), "primary"),
      use("play this", () => this.use(() => askNewGame(this.app, "node")), "quiet")];
    const put = (pieces, turn) => {
      Object.assign(this, { pieces: { ...pieces }, turn });
      this.drawTurn();
      this.redraw();
    };
    this.root.replaceChildren(
      el("h2", {}, t("setup")), el("p.soft", {}, t("setup help")),
      el("div.tray", { role: "group", "aria-label": t("place") }, ...tools.map(([, button]) => button)),
      el("fieldset.choice", { hidden: !game.turnable }, el("legend", {}, t("side to move")), this.sides),
      el("div.actions.left", {},
        el("button.quiet", { click: () => put({}, this.turn) }, t("clear")),
        el("button.quiet", { click: () => put(game.start.pieces, game.start.turn) }, t("first position")),
        iconButton("flip", t("flip"), () => this.app.stage.flip())),
      el("label.field.wide-field", {}, el("span", {}, t("position text")), this.text),
      this.message, el("div.actions.left", {}, ...this.uses));
    choose(this.tool);
    this.drawTurn();
  }

  drawTurn() {
    const { game } = this.table;
    refill(this.sides, ...["black", "white"].map((side) => el("button", {
      "aria-pressed": String(this.turn === side),
      click: () => { this.turn = side; this.drawTurn(); this.redraw(); },
    }, sideName(game, side))));
  }

  picture(letter) {
    const text = this.table.game.pieceLetters[letter];
    const svg = svgElement("svg", { viewBox: "-22 -22 44 44", "aria-hidden": "true" });
    if (text) {
      const glyph = svgElement("text", { class: `letter ${letter}` });
      glyph.textContent = text;
      svg.append(glyph);
    } else svg.append(svgElement("use", { href: `#piece-${letter}` }));
    return svg;
  }

  // Drag a piece from the tray onto the board.
  carry(event, letter) {
    if (!letter || event.button !== 0) return;
    const ghost = el("div.ghost", {}, this.picture(letter));
    const place = ({ clientX, clientY }) => {
      ghost.style.transform = `translate(${clientX}px, ${clientY}px)`;
    };
    const { board, input } = this.app.stage;
    const move = (moved) => {
      if (!ghost.isConnected && Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) < 6) return;
      if (!ghost.isConnected) document.body.append(ghost);
      place(moved);
    };
    const end = (up) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      if (!ghost.isConnected) return;
      ghost.remove();
      const square = up.type === "pointerup" ? board.squareAt(...input.point(up)) : null;
      if (square !== null) {
        this.pieces[square] = letter;
        this.redraw();
      }
    };
    if (event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  async use(then) {
    if (await this.app.do("setup", { pieces: this.pieces, turn: this.turn })) then();
  }
}
