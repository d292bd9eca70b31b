// The dialog of a new game: strength, side, clock; which game, which engine and from where under "More".
import { el, field, openDialog, refill, segments, select } from "./dom.js";
import { ask, store, stored } from "./net.js";
import { sideName } from "./words.js";

const SETTINGS = "ckai-new-game", HUMAN = { spec: "human", name: "human" }, SIDES = ["black", "white"], MOST = 600;
const CLOCKS = [["", "No clock"], ["60+1", "1 + 1"], ["180+2", "3 + 2"], ["300+3", "5 + 3"], ["600+5", "10 + 5"], ["own", "Other"]];
const NAMED = [1, 3, 7, 11, 16]; // levels whose names are shown below the slider

/** Ask for a new game and begin it; `here`: from the position on the board. */
export function askNewGame(app, here = false) {
  const { table, engines } = app, body = el("div.new-game"), error = el("p.error", { role: "alert" });
  const chosen = { game: table.game.name, side: "black", level: app.site.level, clock: "", minutes: 5, increment: 3, black: "", white: "",
    ...stored(SETTINGS), custom: "", start: here ? "here" : "" };
  if (here || !table.empty) chosen.game = table.game.name;
  let open = false;

  function draw() {
    const game = table.gameNamed(chosen.game), offered = engines.of(game), levels = offered.filter(({ level }) => level), { side } = chosen;
    for (const each of SIDES) if (!offered.some(({ spec }) => spec === chosen[each])) chosen[each] = levels.length ? "" : offered[0]?.spec ?? "";
    const set = (name) => (value) => { chosen[name] = value; draw(); };
    const position = game === table.game && !table.empty ? [["here", "The position on the board"]] : [];
    const openings = game.rules ? [["ballot", "A random three-move opening"], ...Object.keys(game.openings).map((name) => [name, name])] : [];
    const starts = [["", "First position"], ...position, ...openings];
    const more = el("details", { open, toggle: () => { ({ open } = more); } }, el("summary", {}, "More: another game, other engines, openings"),
      app.site.games.length > 1 ? segments("Game", app.site.games.map(({ name, title }) => [name, title]), chosen.game, (name) => {
        chosen.start = "";
        set("game")(name);
      }) : null,
      ...(side === "both" ? [] : side === "none" ? SIDES : ["black"]).map((each) => field(
        side === "none" ? `Engine of ${sideName(game, each)}` : "Engine",
        select([...(levels.length ? [["", "The level chosen above"]] : []), ...offered.map(({ spec, name, note, level }) =>
          [spec, level || !note ? name : `${name}: ${note}`])], chosen[each], set(each)))),
      ["both", "none"].includes(side) ? null : field("Engine with another limit, such as ckai@2s", el("input", { type: "text",
        value: chosen.custom, spellcheck: "false", autocomplete: "off", input: ({ target }) => { chosen.custom = target.value.trim(); } })),
      field("Start from", select(starts, chosen.start, (start) => { chosen.start = start; })));
    refill(body, side === "both" || !levels.length ? null : strength(levels, offered),
      segments("You play",
        [...SIDES.map((each) => [each, sideName(game, each)]), ["either", "Random"], ["both", "Two people"], ["none", "Two engines"]],
        side, set("side")),
      segments("Clock: minutes for the game + seconds for each move", CLOCKS, chosen.clock, set("clock")),
      chosen.clock === "own" ? el("div.columns-of-fields", {}, number("Minutes", "minutes"), number("Seconds a move", "increment")) : null,
      more, error);
  }

  function strength(levels, offered) {
    const note = el("p.note"), engine = offered.find(({ spec }) => spec === chosen.black);
    const say = () => {
      const { name, note: about } = levels[chosen.level - 1];
      input.setAttribute("aria-valuetext", name);
      note.textContent = chosen.black && engine ? `Not a level: ${engine.name}` : `${name}: ${about}`;
    };
    const input = el("input", { type: "range", min: "1", max: String(levels.length), step: "1", "aria-label": "Strength of the opponent",
      input: () => { Object.assign(chosen, { level: Number(input.value), black: "" }); say(); } });
    input.value = chosen.level = Math.min(chosen.level, levels.length);
    say();
    return el("fieldset.choice", {}, el("legend", {}, "Opponent"), input, el("div.scale", { "aria-hidden": "true" },
      ...NAMED.map((level) => el("span", {}, levels[level - 1]?.name.split(", ")[1]))), note);
  }

  const number = (label, name) => field(label, el("input", { type: "number", min: 0, max: MOST, step: "any", value: chosen[name],
    input: ({ target }) => { chosen[name] = Number(target.value); } }));

  function player(spec, game) {
    const custom = chosen.side === "none" ? "" : chosen.custom; // the server says so if it is none
    if (custom) return { spec: custom, name: custom };
    const wanted = spec || `level:${chosen.level}`, found = engines.of(game).find((each) => each.spec === wanted);
    if (!found) throw new Error("the engines are not loaded yet; try again in a moment");
    return { spec: wanted, name: found.level ? `level ${found.level}` : found.name };
  }

  async function begin() {
    const game = table.gameNamed(chosen.game), { clock, minutes, increment, start } = chosen;
    const side = chosen.side === "either" ? SIDES[Math.floor(2 * Math.random())] : chosen.side;
    try {
      const [black, white] = SIDES.map((each) => (side === "both" || side === each ? HUMAN
        : player(side === "none" ? chosen[each] : chosen.black, game)));
      if (clock === "own" && !(minutes > 0 && minutes <= MOST && increment >= 0 && increment <= MOST)) {
        throw new Error(`expected minutes above 0 and seconds from 0, at most ${MOST} each`);
      }
      if (start === "here" && table.look()?.outcome) throw new Error("the game is over in this position; begin in another one");
      const [seconds, added] = clock === "own" ? [60 * minutes, increment] : clock.split("+").map(Number);
      const lines = start !== "ballot" ? [game.openings[start] ?? []] : app.site.ballots;
      const moves = lines[Math.floor(lines.length * Math.random())];
      table.play(game, { black, white }, clock ? { seconds, increment: added } : null, { here: start === "here", moves });
      store(SETTINGS, { ...chosen, start: undefined });
      dialog.close();
      app.show("play");
    } catch ({ message }) {
      error.textContent = message;
    }
  }

  draw();
  engines.addEventListener("players", draw);
  const dialog = openDialog("New game", body, [["Cancel", null, "quiet"], ["Start", begin, "primary"]]);
  dialog.addEventListener("close", () => engines.removeEventListener("players", draw));
}
