// A game as PDN, with comments, signs and variations where the files of the game hold them.
const WIDTH = 80;
// eslint-disable-next-line no-control-regex
const clean = (text) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");

/** The game of a table as text. */
export function written(table) {
  const { game, root, start } = table, playing = table.mode === "play" || table.interrupted;
  const result = playing ? table.outcome(table.current)?.result ?? table.ended?.result ?? "*" : table.result;
  const tags = [...table.headers.filter(([name]) => /^[A-Za-z]/.test(name) && name !== "Opening")];
  let end = playing ? table.current : root;
  while (!playing && end.children.length) [end] = end.children;
  const opening = table.opening(end);
  if (opening) tags.push(["Opening", opening]);
  tags.push(["Result", result], game.rules ? ["GameType", "21"] : ["Game", game.name]);
  if (start) tags.push(...(game.rules ? [["SetUp", "1"], ["FEN", start]] : [["Setup", start]]));
  const words = [];
  const comment = (text) => text && game.rules && words.push(`{${clean(text).replaceAll("}", ")").replace(/\s+/g, " ").trim()}}`);
  const put = (node, numbered) => {
    const number = table.number(node);
    if (numbered || !number.endsWith("...")) words.push(number.replace("...", ". ..."));
    words.push(node.move, ...(game.rules ? node.nags.map((nag) => `$${nag}`) : []));
    comment(node.comment);
    return Boolean(node.comment);
  };
  const line = (parent, first = null) => {
    let node = first ?? parent.children[0], numbered = true;
    while (node && !(playing && !first && parent === table.current)) {
      numbered = put(node, numbered);
      if (node !== first && game.rules) {
        for (const each of parent.children.slice(1)) {
          const at = words.length;
          line(parent, each);
          words[at] = `(${words[at]}`;
          words[words.length - 1] += ")";
          numbered = true;
        }
      }
      parent = node;
      node = parent.children[0];
    }
  };
  comment(root.comment);
  line(root);
  words.push(result);
  const lines = [];
  for (const word of words.flatMap((each) => each.split(" "))) { // a line must not begin as a tag or a remark does
    if (lines.length && (lines.at(-1).length + word.length < WIDTH || /^[[%]/.test(word))) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const heads = tags.map(([name, value]) => `[${clean(name)} "${clean(value).replace(/[\\"]/g, "\\$&")}"]`);
  return [...heads, "", ...lines, "", ""].join("\n");
}
