// The rules: checkers in the page itself, other games from the server.
import * as checkers from "./engine/rules.js";
import { ask } from "./net.js";

function step(before, move) {
  const after = checkers.play(before, move), old = checkers.pieces(before), now = checkers.pieces(after);
  const { path, captured, text } = move;
  const changes = Object.fromEntries([...path, ...captured].map((square) => [square, now[square] ?? ""]));
  return { move: text, path, captures: captured, changes, crowned: old[path[0]] !== now[path.at(-1)] };
}

/** Return pieces after a step. */
export function after(pieces, changes) {
  const result = { ...pieces };
  for (const [square, letter] of Object.entries(changes)) {
    if (letter) result[square] = letter;
    else delete result[square];
  }
  return result;
}

/** Play a move of checkers given as text: {position, step}; an Error if it is illegal. */
export function advance(position, text) {
  const move = checkers.findMove(position, text);
  if (!move) throw new Error(`expected a legal move, found ${text}`);
  return { position: checkers.play(position, move), step: step(position, move) };
}

/** The positions of checkers along moves, from the first one on. */
export function replay(start, moves = []) {
  const positions = [start ? checkers.parseFen(start) : checkers.startPosition()];
  for (const text of moves) positions.push(advance(positions.at(-1), text).position);
  return positions;
}

/** The steps of a line of checkers. */
export function steps(position, moves) {
  return moves.map((text) => {
    const made = advance(position, text);
    ({ position } = made);
    return made.step;
  });
}

/** What is to be seen in the last of some positions of checkers: fen, turn, pieces, legal, outcome. */
export function seen(positions) {
  const here = positions.at(-1), found = checkers.result(positions);
  return {
    fen: checkers.fen(here), turn: here.black ? "black" : "white", pieces: checkers.pieces(here),
    legal: found ? [] : checkers.legalMoves(here).map((move) => step(here, move)),
    outcome: found && { ...found, text: `${found.text} (${found.result})` },
  };
}

/** What is to be seen in a position of any game: given as text, as {pieces, black}, or "" for the first one. */
export async function look(game, start, moves = []) {
  if (!game.rules) return ask("legal", { game: game.name, moves, ...(start.pieces ? start : { start }) });
  return seen(replay(start.pieces ? checkers.fen(checkers.fromPieces(start.pieces, start.black)) : start, moves));
}
