// What people call sides, pieces, moves and values.

/** The name of a side of a game. */
export const sideName = (game, side) => game.sideNames[side === "black" ? 0 : 1];

/** The name of what stands on a square. */
export function pieceName(game, letter) {
  if (!letter) return "empty";
  const side = sideName(game, letter.toLowerCase() === "b" ? "black" : "white").toLowerCase();
  return game.kings ? `${side} ${letter === letter.toLowerCase() ? "man" : "king"}` : side;
}

/** A move in words. */
export function moveName({ move, path, captures, crowned }) {
  if (path.length < 2) return move;
  return path.join(" to ") + (captures.length ? `, takes ${captures.join(", ")}` : "") + (crowned ? ", is crowned" : "");
}

/** An expected score from 0 to 1 as text. */
export const percent = (score) => `${Math.round(100 * score)}%`;

/** A value in words: the score that the first player can expect. Every value on the page is this one. */
export const scoreText = (game, score) => `Expected score of ${sideName(game, "black")}: ${percent(score)}`;

/** What the numbers mean. */
export const scoreHelp = (game) => `60% means: of 100 games between equal strong players from here, ${sideName(game, "black")} `
  + "would score 60 points, a draw counting half. 50% is even, 100% won.";

/** Count things: `1 ply`, `2 plies`. */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
