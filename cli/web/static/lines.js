// The engine's lines: the value, the moves to hover and to step through, and arrows on the board.
import { el } from "./dom.js";
import { pointsText, sideName, t } from "./labels.js";
import { after } from "./table.js";

const SHOWN = 10; // moves of a line

/** A value as a chip in the colour of the side that is better. */
export function chip(game, { black, proven, plies }, turn) {
  const other = turn === "black" ? "white" : "black";
  if (proven === "draw") return el("span.chip-of-value.even", { title: t("draw proven") }, "=");
  if (proven) {
    const side = proven === "win" ? turn : other;
    const text = plies ? t("wins in", { side: sideName(game, side), n: plies }) : t("wins", { side: sideName(game, side) });
    return el("span.chip-of-value", { class: side, title: text }, plies ? `#${plies}` : "#");
  }
  if (black === null) return el("span.chip-of-value.even", {}, "–");
  const percent = Math.round(100 * Math.max(black, 1 - black));
  const side = percent === 50 ? "even" : black > 0.5 ? "black" : "white";
  return el("span.chip-of-value", { class: side, title: pointsText(game, black) }, `${percent}%`);
}

/** Arrows along the first moves of lines: the more visits, the thicker. */
export function arrowsOf(lines) {
  const most = Math.max(1, ...lines.map((line) => line.visits));
  return lines.filter((line) => line.pv.length).map((line, i) => {
    const share = Math.sqrt(line.visits / most);
    return { path: line.pv[0].path, kind: i ? "last" : "best", width: 2 + 6 * share, opacity: 0.4 + 0.45 * share };
  }).reverse();
}

export class Lines {
  /** @param play called with the steps of a line up to one that was clicked. */
  constructor(app, play) {
    this.app = app;
    this.table = app.table;
    this.root = el("ol.lines", { pointerleave: () => this.leave() });
    this.play = play;
    this.hovering = false;
  }

  /** Draw the lines of a search; null: there is none. */
  draw(search) {
    const { state, game } = this.table;
    if (this.hovering && search) return; // what is being read stays
    this.leave();
    this.root.replaceChildren(...(search?.lines ?? []).map((line) => el("li", {},
      chip(game, line, state.turn),
      el("span.pv", {}, ...line.pv.slice(0, SHOWN).map((step, i) => {
        const button = el("button.pv-move", {
          pointerenter: (event) => event.pointerType === "mouse" && this.show(line.pv, i),
          focus: () => button.matches(":focus-visible") && this.show(line.pv, i),
          blur: () => this.leave(),
          click: () => { this.leave(); this.play(line.pv.slice(0, i + 1)); },
        }, step.move);
        return button;
      })))));
  }

  show(pv, n) {
    this.hovering = true;
    const pieces = pv.slice(0, n + 1).reduce((now, step) => after(now, step.changes), this.table.state.pieces);
    this.app.stage.preview(pieces, pv[n].path);
  }

  leave() {
    if (!this.hovering) return;
    this.hovering = false;
    this.app.stage.preview(null);
  }
}
