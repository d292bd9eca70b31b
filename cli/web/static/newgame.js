// The dialog of a new game: which game, which side, against whom, with which clock, from where.
import { el, field, refill, select } from "./dom.js";
import { openDialog } from "./dialog.js";
import { sideName, t } from "./labels.js";

const HUMAN = "human";

/** Ask for a new game and begin it; `start` is "node" to go on from the position on the board. */
export function askNewGame(app, start = "") {
  const { table } = app;
  const { welcome, state } = table;
  const chosen = { game: state.game, side: table.mySide ?? "black", clock: state.clocks?.control ?? "", start };
  const body = el("div.new-game");
  const error = el("p.error", { role: "alert" });

  const players = () => welcome.players.filter((each) => each.game === chosen.game);
  const startingSpec = () => {
    const before = Object.values(state.players).find((each) => !each.human)?.spec;
    const list = players();
    return (list.find((each) => each.spec === before) ?? list.find((each) => each.group === "networks")
      ?? list[0])?.spec ?? "";
  };

  function draw() {
    const game = table.gameNamed(chosen.game);
    chosen.black ??= startingSpec();
    chosen.white ??= startingSpec();
    const sides = [["black", sideName(game, "black")], ["white", sideName(game, "white")], ["either", t("either")],
      ["both", t("both")], ["none", t("none")]];
    refill(body,
      group(t("game"), welcome.games.map((each) => [each.name, each.title]), chosen.game, (name) => {
        Object.assign(chosen, { game: name, black: null, white: null, start: "" });
        draw();
      }),
      group(t("your side"), sides, chosen.side, (side) => { chosen.side = side; draw(); }),
      ...(chosen.side === "none" ? ["black", "white"] : chosen.side === "both" ? [] : ["black"])
        .map((slot) => opponent(game, slot)),
      el("div.columns-of-fields", {},
        field(t("clock"), select([...new Set([...welcome.controls, chosen.clock])].map((each) => [each, each || t("no clock")]),
          chosen.clock, (clock) => { chosen.clock = clock; })),
        field(t("start from"), select(starts(game), chosen.start, (start) => { chosen.start = start; }))),
      error);
  }

  // With one engine, `black` is the engine's place whichever side it takes.
  function opponent(game, slot) {
    const title = chosen.side === "none" ? t("first engine", { side: sideName(game, slot) }) : t("opponent");
    const note = el("p.note");
    const specs = el("input", { type: "text", value: chosen[slot], spellcheck: "false", autocomplete: "off",
      input: () => pick(specs.value) });
    const buttons = [];
    const pick = (spec) => {
      chosen[slot] = spec;
      specs.value = spec;
      const known = players().find((each) => each.spec === spec);
      note.textContent = known ? `${known.name}. ${known.note}` : "";
      for (const [each, button] of buttons) button.setAttribute("aria-pressed", String(each === spec));
    };
    const groups = [...new Set(players().map((each) => each.group))].map((name) => el("div.chips", { class: name },
      el("span.chips-title", {}, t(name)),
      el("div", {}, ...players().filter((each) => each.group === name).map((each) => {
        const text = name === "levels" ? each.name.replace(/^\D+/, "") || each.name : each.name;
        const button = el("button.chip", { "aria-label": each.name, click: () => pick(each.spec) }, text);
        buttons.push([each.spec, button]);
        return button;
      }))));
    const box = el("fieldset.opponent", {}, el("legend", {}, title), ...groups, note,
      el("details", {}, el("summary", {}, t("other player")), specs));
    specs.setAttribute("aria-label", t("other player"));
    pick(chosen[slot]);
    return box;
  }

  function starts(game) {
    const list = [["", t("first position")]];
    if (state.game === game.name) list.push(["node", t("this position")]);
    return [...list, ["ballot", t("ballot")], ...game.openings.map((each) => [`opening:${each.name}`, each.name])];
  }

  async function begin() {
    const side = chosen.side === "either" ? (Math.random() < 0.5 ? "black" : "white") : chosen.side;
    const seats = {
      black: { black: HUMAN, white: chosen.black }, white: { black: chosen.black, white: HUMAN },
      both: { black: HUMAN, white: HUMAN }, none: { black: chosen.black, white: chosen.white },
    }[side];
    const start = chosen.start === "node" ? { node: state.node }
      : chosen.start ? { opening: chosen.start.replace(/^opening:/, "") } : {};
    try {
      await table.ask("new", { game: chosen.game, ...seats, control: chosen.clock, ...start });
      dialog.close();
      app.show("play");
    } catch (problem) {
      error.textContent = problem.message;
    }
  }

  // The server may still be looking for players.
  const found = () => {
    chosen.black ||= null;
    chosen.white ||= null;
    draw();
  };
  draw();
  table.addEventListener("players", found);
  const dialog = openDialog(t("new game"), body, el("div.actions", {},
    el("button.quiet", { click: () => dialog.close() }, t("cancel")),
    el("button.primary", { click: begin }, t("start"))));
  dialog.addEventListener("close", () => table.removeEventListener("players", found));
}

function group(title, choices, value, change) {
  return el("fieldset.choice", {}, el("legend", {}, title), el("div.segments", {},
    ...choices.map(([each, text]) => el("button", { "aria-pressed": String(each === value),
      click: () => change(each) }, text))));
}
