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

const first = (start) => (start ? checkers.parseFen(start) : checkers.startPosition());

/** The positions of checkers along moves; an Error if one is illegal. */
export function replay(start, moves) {
  const positions = [first(start)];
  for (const text of moves) {
    const move = checkers.findMove(positions.at(-1), text);
    if (!move) throw new Error(`expected a legal move, found ${text}`);
    positions.push(checkers.play(positions.at(-1), move));
  }
  return positions;
}

/** The positions of checkers along moves, each with its FEN as `text`. */
export const positionsOf = (start, moves) => replay(start, moves).map((position) => ({ position, text: checkers.fen(position) }));

/** The steps of a line of checkers. */
export function steps(position, moves) {
  return moves.map((text) => {
    const move = checkers.findMove(position, text), made = step(position, move);
    position = checkers.play(position, move);
    return made;
  });
}

/** Play a move of checkers given as text: {position, step}, or null if it is illegal. */
export function advance(position, text) {
  const move = checkers.findMove(position, text);
  return move && { position: checkers.play(position, move), step: step(position, move) };
}

/** What is to be seen in the last of some positions of checkers: fen, turn, pieces, legal, outcome, notices. */
export function seen(positions) {
  const here = positions.at(-1), found = checkers.result(positions), notices = [];
  if (here.clock >= 40) notices.push(`${here.clock} plies without a capture or a man's move; drawn at ${checkers.HALFMOVE_LIMIT}`);
  if (positions.filter(({ key }) => key === here.key).length === 2) notices.push("this position is repeated");
  return {
    fen: checkers.fen(here), turn: here.black ? "black" : "white", pieces: checkers.pieces(here),
    legal: found ? [] : checkers.legalMoves(here).map((move) => step(here, move)),
    outcome: found && { ...found, text: `${found.text} (${found.result})` }, notices,
  };
}

/** What is to be seen in a position of any game: given as text, as {pieces, black}, or "" for the first one. */
export async function look(game, start, moves = []) {
  if (!game.rules) return ask("legal", { game: game.name, moves, ...(start.pieces ? start : { start }) });
  return seen(replay(start.pieces ? checkers.fen(checkers.fromPieces(start.pieces, start.black)) : start, moves));
}
