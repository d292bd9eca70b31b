"use strict";
// A board whose shapes are in the page's definitions: #board, #board-flipped, #piece-b, #piece-B, ...
class Board {
  // svg: an empty <svg>; measures: width, height, and the centers of the squares by number.
  constructor(svg, measures) {
    this.svg = svg;
    this.measures = measures;
    this.numbers = Object.keys(measures.squares).map(Number).sort((a, b) => a - b);
    this.flipped = false;
    svg.setAttribute("viewBox", `0 0 ${measures.width} ${measures.height}`);
  }

  center(square) {
    const [x, y] = this.measures.squares[square];
    return this.flipped ? [this.measures.width - x, this.measures.height - y] : [x, y];
  }

  // letters: one letter a square, "." where it is empty; arrows: [class, squares] pairs; label: for readers.
  draw(letters, arrows, label) {
    this.shown = [letters, arrows, label];
    const parts = [this.element("use", { href: this.flipped ? "#board-flipped" : "#board" })];
    this.numbers.forEach((square, i) => {
      if (letters[i] !== ".") {
        const [x, y] = this.center(square);
        parts.push(this.element("use", { href: `#piece-${letters[i]}`, x, y }));
      }
    });
    for (const [name, squares] of arrows) {
      for (let i = 1; i < squares.length; i++) parts.push(this.arrow(name, squares[i - 1], squares[i]));
    }
    this.svg.setAttribute("aria-label", label);
    this.svg.replaceChildren(...parts);
  }

  flip() {
    this.flipped = !this.flipped;
    if (this.shown) this.draw(...this.shown);
  }

  arrow(name, from, to) {
    const [x1, y1] = this.center(from), [x2, y2] = this.center(to);
    const length = Math.hypot(x2 - x1, y2 - y1);
    const ux = (x2 - x1) / length, uy = (y2 - y1) / length;
    const bx = x2 - 12 * ux, by = y2 - 12 * uy;
    const group = this.element("g", { class: `arrow ${name}`, opacity: 0.75 });
    const points = `${x2},${y2} ${bx - 6 * uy},${by + 6 * ux} ${bx + 6 * uy},${by - 6 * ux}`;
    group.append(this.element("line", { x1, y1, x2: bx, y2: by }), this.element("polygon", { points }));
    return group;
  }

  element(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
}
