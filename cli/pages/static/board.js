// A board as SVG: squares, marks, men that slide, arrows. It knows no rules and takes no input.
// The shapes #piece-b, #piece-B, #piece-w and #piece-W are in the page's definitions.

const HOP = 170; // milliseconds of a hop
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Make an element of SVG with attributes. */
export function svgElement(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export class Board {
  /**
   * @param svg an empty <svg>.
   * @param measures width, height, cell and margin of the drawing, rows and columns of the board, whether
   *   people know the squares by their numbers, and the centers of the squares by number.
   * @param letters what to draw in place of men, by "b" and "w"; empty: men.
   */
  constructor(svg, measures, letters = {}) {
    this.svg = svg;
    this.measures = measures;
    this.letters = letters;
    this.squares = Object.keys(measures.squares).map(Number);
    this.flipped = false;
    this.pieces = {};
    this.marked = new Map();
    this.drawn = [];
    this.men = new Map();
    this.layers = {};
    const { width, height, margin } = measures;
    this.whole = this.squares.length === measures.rows * measures.columns;
    svg.setAttribute("viewBox", `${margin} ${margin} ${width - 2 * margin} ${height - 2 * margin}`);
    svg.classList.toggle("whole", this.whole);
    svg.classList.toggle("letters", Object.keys(letters).length > 0);
    for (const name of ["squares", "marks", "numbers", "men", "dots", "arrows"]) {
      this.layers[name] = svgElement("g", { class: name });
    }
    svg.replaceChildren(...Object.values(this.layers));
    this.drawSquares();
  }

  /** Return the center of a square in the drawing. */
  center(square) {
    const { width, height, squares } = this.measures;
    const [x, y] = squares[square];
    return this.flipped ? [width - x, height - y] : [x, y];
  }

  /** Return the square at a point of the drawing, or null. */
  squareAt(x, y) {
    const half = this.measures.cell / 2;
    const found = this.squares.find((square) => {
      const [cx, cy] = this.center(square);
      return Math.abs(x - cx) <= half && Math.abs(y - cy) <= half;
    });
    return found ?? null;
  }

  /** Turn the board around. */
  flip() {
    this.flipped = !this.flipped;
    this.drawSquares();
  }

  /**
   * Show a position.
   * @param pieces square -> "b", "B", "w" or "W".
   * @param move {path, captures} that leads here and is to be seen; null: the position appears.
   * @param fast hops that are on the board already, such as those of a man that was dragged.
   */
  show(pieces, move = null, fast = 0) {
    const before = this.pieces;
    this.pieces = { ...pieces };
    if (move && !calm.matches && move.path.length > 1) this.slide(move, fast);
    for (const square of this.squares) {
      const letter = pieces[square];
      const man = this.men.get(square);
      if (!letter) {
        man?.remove();
        this.men.delete(square);
      } else if (!man) {
        const made = this.man(square, letter);
        if (move && !before[square]) this.enter(made, square, move);
      } else if (man.dataset.piece !== letter && !man.waits) this.dress(man, letter);
    }
  }

  /** Shade squares of a kind: "last", "chosen", "heat" (with a strength from 0 to 1) or as a dot: "target". */
  mark(kind, squares, strength = () => 1) {
    this.marked.set(kind, [squares, strength]);
    this.layMarks();
  }

  /** Draw arrows: a list of {path, kind, width, opacity}, the last three optional. */
  arrows(list) {
    this.drawn = list;
    const parts = [];
    for (const { path, kind = "last", width = 5, opacity } of list) {
      for (let i = 1; i < path.length; i++) parts.push(this.arrow(path[i - 1], path[i], kind, width, opacity));
    }
    this.layers.arrows.replaceChildren(...parts);
  }

  // --- drawing ------------------------------------------------------------------------------------------

  drawSquares() {
    const { width, height, cell, margin, numbers } = this.measures;
    const texts = [], parts = [
      svgElement("rect", {
        class: "light", x: margin, y: margin, width: width - 2 * margin, height: height - 2 * margin,
      }),
    ];
    for (const square of this.squares) {
      const [x, y] = this.center(square);
      parts.push(this.rect(square, "square"));
      if (this.whole && !Object.keys(this.letters).length) {
        parts.push(svgElement("circle", { class: "well", cx: x, cy: y, r: 0.4 * cell }));
      }
      if (numbers) {
        const text = svgElement("text", { class: "number", x: x - cell / 2 + 1.8, y: y - cell / 2 + 7.2 });
        text.textContent = square;
        texts.push(text);
      }
    }
    this.layers.squares.replaceChildren(...parts);
    this.layers.numbers.replaceChildren(...texts);
    this.men.clear();
    this.layers.men.replaceChildren();
    this.show(this.pieces);
    this.layMarks();
    this.arrows(this.drawn);
  }

  layMarks() {
    const marks = [], dots = [];
    for (const [kind, [squares, strength]] of this.marked) {
      for (const square of squares) {
        const [cx, cy] = this.center(square);
        if (kind !== "target") {
          const shade = this.rect(square, `mark ${kind}`);
          if (kind === "heat") shade.setAttribute("fill-opacity", strength(square));
          marks.push(shade);
        } else dots.push(svgElement("circle", { class: "target", cx, cy, r: 6.5 }));
      }
    }
    this.layers.marks.replaceChildren(...marks);
    this.layers.dots.replaceChildren(...dots);
  }

  rect(square, name) {
    const { cell } = this.measures;
    const [x, y] = this.center(square);
    return svgElement("rect", { class: name, x: x - cell / 2, y: y - cell / 2, width: cell, height: cell });
  }

  man(square, letter) {
    const [x, y] = this.center(square);
    const man = svgElement("g", { class: "man", transform: `translate(${x},${y})` });
    this.dress(man, letter);
    this.layers.men.append(man);
    this.men.set(square, man);
    return man;
  }

  dress(man, letter) {
    man.dataset.piece = letter;
    const text = this.letters[letter];
    if (text) {
      const glyph = svgElement("text", { class: `letter ${letter}` });
      glyph.textContent = text;
      man.replaceChildren(glyph);
    } else man.replaceChildren(svgElement("use", { href: `#piece-${letter}` }));
  }

  arrow(from, to, kind, width, opacity) {
    const [x1, y1] = this.center(from), [x2, y2] = this.center(to);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const ux = (x2 - x1) / length, uy = (y2 - y1) / length;
    const head = 6 + 1.4 * width, side = 2.5 + 0.85 * width;
    const bx = x2 - head * ux, by = y2 - head * uy;
    const points = `${x2},${y2} ${bx - side * uy},${by + side * ux} ${bx + side * uy},${by - side * ux}`;
    const group = svgElement("g", { class: `arrow ${kind}` },
      svgElement("line", { x1, y1, x2: bx, y2: by, "stroke-width": width }), svgElement("polygon", { points }));
    if (opacity !== undefined) group.style.opacity = opacity;
    return group;
  }

  // --- motion -------------------------------------------------------------------------------------------

  slide({ path, captures = [] }, fast) {
    const man = this.men.get(path[0]);
    if (!man) return;
    const end = path.at(-1), hops = path.length - 1 - fast;
    this.layers.men.append(man);
    captures.forEach((square, i) => {
      const taken = this.men.get(square);
      if (!taken) return;
      this.men.delete(square);
      const delay = Math.max(0, i - fast + 0.5) * HOP;
      const fade = taken.animate([{ opacity: 1 }, { opacity: 0 }], { duration: HOP, delay, fill: "both" });
      fade.onfinish = fade.oncancel = () => taken.remove();
    });
    this.men.delete(path[0]);
    this.men.set(end, man);
    const [x, y] = this.center(end);
    man.setAttribute("transform", `translate(${x},${y})`);
    const arrive = () => {
      man.waits = false;
      const letter = this.pieces[end];
      if (this.men.get(end) !== man || !letter || man.dataset.piece === letter) return;
      this.dress(man, letter);
      man.firstChild.animate([{ transform: "scale(1.25)" }, { transform: "scale(1)" }], { duration: HOP });
    };
    if (hops < 1) {
      arrive();
      return;
    }
    man.waits = true;
    const frames = path.slice(fast).map((square) => {
      const [fx, fy] = this.center(square);
      return { transform: `translate(${fx}px, ${fy}px)`, easing: "ease-in-out" };
    });
    const motion = man.animate(frames, { duration: HOP * hops });
    motion.onfinish = motion.oncancel = arrive;
  }

  enter(man, square, { path }) {
    if (calm.matches || path.length > 1) return;
    const [x, y] = this.center(square);
    const from = this.whole && !Object.keys(this.letters).length
      ? `translate(${x}px, ${this.measures.margin - this.measures.cell / 2}px)`
      : `translate(${x}px, ${y}px) scale(.3)`;
    man.animate([{ transform: from }, { transform: `translate(${x}px, ${y}px)` }],
      { duration: 1.5 * HOP, easing: "ease-in" });
  }
}
