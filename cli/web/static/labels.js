// The texts that the page writes itself, in English; the server sends others.
const LABELS = {
  // the page
  "play": "Play", "analysis": "Analysis", "setup": "Set up", "games": "Games", "inside": "Inside", "runs": "Runs",
  "views": "Views", "to light": "Light colours", "to dark": "Dark colours", "close": "Close", "cancel": "Cancel",
  "offline": "not connected: the server does not answer; nothing is lost, try again in a moment",
  "reconnecting": "The connection is lost. Your game is safe on the server; connecting again …",
  "elsewhere": "This game was opened in another tab.", "back here": "Play it here",
  "copied": "Copied.", "copy failed": "The browser did not allow copying: select the text and copy it.",

  // the board
  "board of": "{game} board", "square": "square {square}", "cell": "column {column}, row {row}",
  "man of": "{side} man", "king of": "{side} king", "piece of": "{side}", "empty": "empty",
  "step": "{from} to {to}", "step takes": "{path}, takes {taken}", "step crowns": "{path}, is crowned",
  "no value": "No value yet", "points": "{side} is better, {percent}%",
  "even": "Even", "won": "won", "you": "You", "thinking": "thinking", "captured": "{n} taken",

  // moves
  "moves": "Moves", "first": "First position", "back": "One move back", "next": "One move on",
  "last": "Last position", "flip": "Turn the board", "no moves": "No moves yet.",
  "nag 1": "good move", "nag 2": "mistake", "nag 3": "very good move", "nag 4": "blunder",
  "nag 5": "interesting move", "nag 6": "doubtful move",

  // play
  "new game": "New game", "hint": "Hint", "undo": "Take back", "redo": "Redo", "resign": "Resign",
  "pass": "Pass",
  "offer draw": "Offer a draw", "rematch": "Rematch", "swap sides": "Rematch, other side", "stop": "Move now",
  "analyse game": "Analyse", "resume": "Back to the game",
  "your move": "Your move", "to move": "{side} to move", "opponent thinks": "{name} is thinking …",
  "must capture": "Your move: you must capture", "looking back": "Looking back", "to the end": "Back to the game",
  "resign?": "Resign this game?", "resign text": "The game counts as lost. It stays saved.",
  "keep playing": "Keep playing", "hint text": "A good move: {move}", "saved as": "Saved as {path}",
  "in analysis": "This game is being analysed.", "welcome": "Ready when you are",
  "welcome text": "Begin a new game, or move the men of both sides as you like.",

  // new game
  "game": "Game", "your side": "You play", "either": "Random", "both": "Two people", "none": "Watch two engines",
  "opponent": "Opponent", "first engine": "Plays {side}", "levels": "Level", "networks": "Network",
  "search": "Search", "other": "Other", "other player": "With another limit, such as ckai@2s",
  "clock": "Clock", "no clock": "No clock", "start from": "Start from", "first position": "First position",
  "no setup": "Positions of {game} cannot be set up here.",
  "this position": "The position on the board", "ballot": "A random ballot", "start": "Start",

  // analysis
  "engine": "Engine", "lines": "Lines", "network": "Network", "visits": "{n} visits", "depth": "depth {n}",
  "idle": "Switch on to see what the network thinks.",
  "waiting": "Another game's engine is searching first …", "searching": "Searching …",
  "wins in": "{side} wins in {n} plies", "wins": "{side} wins", "draw proven": "Draw, proven",
  "curve label": "Expected points of {side} move by move; click to go there",
  "draw curve": "Value of every move", "curve left": "{n} positions left", "stop curve": "Stop",
  "priors": "Priors", "move": "Move", "prior": "Prior", "share": "Visits", "experts": "Experts",
  "priors idle": "Start the engine: its first guess (prior) and its visits appear here, side by side.",
  "times": "Times", "score": "Score", "expert source": "{total} games in {source} reached this position.",
  "no experts": "No data set is at hand here. `ckai parse` makes one from games of experts.",
  "expert none": "No game in {source} reached this position.", "explain": "Explain",
  "explain none": "There is no move to explain at the first position.", "explain move": "Explain {move}",
  "comment": "Comment", "comment on": "Comment on {move}", "promote": "Make this the main line",
  "remove": "Delete from here", "remove?": "Delete {move} and all moves after it?",
  "save": "Save", "copy fen": "Copy the position (FEN)", "download": "Download as PDN",
  "play on": "Play on from here", "file game": "{name}, game {index} of {count}",

  // set up
  "place": "Place", "erase": "Empty a square", "side to move": "Side to move", "clear": "Empty the board",
  "position text": "Position as text", "analyse this": "Analyse", "play this": "Play",
  "setup help": "Click a piece, then the squares where it belongs; drag a man off the board to take it away.",
  "legal moves": "{n} legal moves", "one legal move": "1 legal move",

  // games
  "open file": "Open a PDN file", "paste": "Paste", "drop file": "Drop a PDN file anywhere on this page, or open one.",
  "find": "Find a name or an event", "result": "Result", "any result": "Any result", "black wins": "First side won",
  "white wins": "Second side won", "drawn": "Drawn", "unfinished": "Unfinished", "event": "Event", "date": "Date",
  "plies": "Plies", "count games": "{total} of {count} games", "problems": "{n} cannot be read to the end",
  "reading": "Reading {name} …", "too large": "{name}: expected at most {most} MB, found {found} MB; split the file", "paste here": "Paste games in PDN", "load": "Load",
  "unreadable": "cannot be read to its end: {problem}", "nothing found": "No matches.",

  // inside
  "look": "Look inside", "looking": "Searching and recording …", "search visits": "Visits",
  "inside help": "What the network sees of this position, what it would play at first sight, and what the search makes of it.",
  "on board": "On the board", "before": "First sight", "after": "After the search", "planes": "Input planes",
  "growth": "How the visits grew", "filters": "First layer",
  "filter n": "Filter {n}", "filter plane": "weights for {plane}", "no networks": "There is no network for this game here.",
  "share of visits": "share of the visits", "no filters": "The first layer of this network cannot be drawn.",
  "sees": "sees {plane}", "shown": "The position has changed: look again.",

  // runs
  "no runs": "No runs here yet. `ckai selfplay` and `ckai pretrain` make them; they appear while they run.",
  "looking for runs": "Looking for runs …",
  "running": "running", "finished": "finished", "unfinished run": "unfinished",
  "elo": "Elo by generation", "generation": "generation", "newest games": "Games of generation {n}",
  "settings": "Settings", "total elo": "Elo", "replay": "Replay",
  "selfplay": "self-play", "pretraining": "pretraining",
};

/** Return a text with its {places} filled. */
export function t(key, values = {}) {
  if (!(key in LABELS)) throw new Error(`no label "${key}"`);
  return LABELS[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Return what people call a side of a game. */
export function sideName(game, side) {
  return game.sideNames[side === "black" ? 0 : 1];
}

/** Return the name of what stands on a square. */
export function pieceName(game, letter) {
  if (!letter) return t("empty");
  const side = sideName(game, letter.toLowerCase() === "b" ? "black" : "white").toLowerCase();
  if (!game.kings) return t("piece of", { side });
  return t(letter === letter.toLowerCase() ? "man of" : "king of", { side });
}

/** Return a move in words. */
export function moveName(game, move) {
  if (move.path.length < 2) return move.move;
  const steps = move.path.slice(1).reduce((text, to) => t("step", { from: text, to }), move.path[0]);
  const name = move.captures.length ? t("step takes", { path: steps, taken: move.captures.join(", ") }) : steps;
  return move.crowned ? t("step crowns", { path: name }) : name;
}

/** Return expected points of Black, 0 to 1, in words. */
export function pointsText(game, black) {
  const percent = Math.round(100 * Math.max(black, 1 - black));
  if (percent === 50) return t("even");
  return t("points", { side: sideName(game, black > 0.5 ? "black" : "white"), percent });
}
