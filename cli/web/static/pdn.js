// A game as PDN, with comments, signs and variations where the files of the game hold them.
const WIDTH = 80;
// eslint-disable-next-line no-control-regex
const clean = (text) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");

/**
 * The moves after a node in the order of PDN: pairs of a node and whether its number is due, "(" and ")" around variations.
 * `after(node)` has the moves that follow it, the main one first.
 */
export function* ordered(after, parent, first = null) {
  let numbered = true;
  for (let node = first ?? after(parent)[0]; node; [node] = after(parent)) {
    yield [node, numbered];
    numbered = Boolean(node.comment);
    for (const other of node === first ? [] : after(parent).slice(1)) {
      yield "(";
      yield* ordered(after, parent, other);
      yield ")";
      numbered = true;
    }
    parent = node;
  }
}

/** The game of a table as text. */
export function written(table) {
  const { game, root, start } = table, playing = table.mode === "play" || table.interrupted;
  const result = playing ? table.outcome(table.current)?.result ?? table.ended?.result ?? "*" : table.result;
  let end = playing ? table.current : root;
  while (!playing && end.children.length) [end] = end.children;
  const opening = table.opening(end), tags = table.headers.filter(([name]) => /^[A-Za-z]/.test(name) && !(opening && name === "Opening"));
  if (opening) tags.push(["Opening", opening]);
  tags.push(["Result", result], game.rules ? ["GameType", "21"] : ["Game", game.name]);
  if (start) tags.push(...(game.rules ? [["SetUp", "1"], ["FEN", start]] : [["Setup", start]]));
  const words = [], after = (node) => (playing && node === table.current ? [] : game.rules ? node.children : node.children.slice(0, 1));
  let bracket = "";
  const comment = (text) => text && game.rules && words.push(`{${clean(text).replaceAll("}", ")").replace(/\s+/g, " ").trim()}}`);
  comment(root.comment);
  for (const each of ordered(after, root)) {
    if (each === "(") bracket = each;
    else if (each === ")") words.push(words.pop() + each);
    else {
      const [node, numbered] = each, number = table.number(node);
      if (numbered || !number.endsWith("...")) words.push(bracket + number.replace("...", ". ..."));
      words.push(node.move, ...(game.rules ? node.nags.map((nag) => `$${nag}`) : []));
      comment(node.comment);
      bracket = "";
    }
  }
  words.push(result);
  const lines = [];
  for (const word of words.flatMap((each) => each.split(" "))) { // a line must not begin as a tag or a remark does
    if (lines.length && (lines.at(-1).length + word.length < WIDTH || /^[[%]/.test(word))) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const heads = tags.map(([name, value]) => `[${clean(name)} "${clean(value).replace(/[\\"]/g, "\\$&")}"]`);
  return [...heads, "", ...lines, "", ""].join("\n");
}
