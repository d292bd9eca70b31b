// The page of an analysis: steps through games and lines, links the curve and the moves with the board.
const data = JSON.parse(document.getElementById("data").textContent);

class GameView {
  constructor(section) {
    this.section = section;
    this.game = data.games[Number(section.dataset.game)];
    this.picture = section.querySelector("svg.board");
    this.board = new Board(this.picture, data.measures);
    this.curve = section.querySelector("svg.curve");
    this.text = section.querySelector(".text");
    this.moves = [...section.querySelectorAll(".moves .move")];
    this.ply = this.game.positions.length - 1;
    this.line = null;
    for (const picture of section.querySelectorAll("svg.diagram")) {
      const ply = Number(picture.dataset.ply), board = new Board(picture, data.measures);
      const arrows = [{ path: this.game.paths[ply], kind: "played" }, { path: this.game.lines[ply][0][2], kind: "best" }];
      GameView.draw(board, this.game.positions[ply - 1], arrows);
    }
    section.addEventListener("click", (event) => this.clicked(event));
    this.show(this.ply, false);
  }

  get last() {
    return this.game.positions.length - 1;
  }

  clicked(event) {
    current = this;
    const button = event.target.closest("button");
    if (button?.dataset.ply) this.show(Number(button.dataset.ply));
    else if (button?.dataset.line) this.begin(Number(button.dataset.line));
    else if (button?.dataset.go) this.go(button.dataset.go);
    else if (event.target.closest("svg.curve")) {
      const box = this.curve.getBoundingClientRect();
      this.show(Math.round(((event.clientX - box.left) / box.width) * this.last));
    }
    if (button?.closest(".critical")) this.section.scrollIntoView({ block: "start" });
  }

  go(where) {
    if (where === "flip") this.board.flip();
    else if (where === "mark") this.show(this.nextMark());
    else if (this.line && (where === "next" || where === "back")) this.step(where === "next" ? 1 : -1);
    else this.show({ first: 0, back: this.ply - 1, next: this.ply + 1, last: this.last }[where]);
  }

  // letters: one letter a square, "." where it is empty; arrows: as Board takes them.
  static draw(board, letters, arrows) {
    const pieces = board.squares.map((square, i) => [square, letters[i]]);
    board.show(Object.fromEntries(pieces.filter(([, letter]) => letter !== ".")));
    board.arrows(arrows);
  }

  // label: for readers.
  draw(letters, arrows, label) {
    GameView.draw(this.board, letters, arrows);
    this.picture.setAttribute("aria-label", label);
  }

  nextMark() {
    const marks = Object.keys(this.game.lines).map(Number).sort((a, b) => a - b);
    return marks.find((ply) => ply > this.ply) ?? marks[0] ?? this.ply;
  }

  // Show the position after a ply of the game.
  show(ply, scroll = true) {
    this.line = null;
    this.ply = Math.min(this.last, Math.max(0, ply));
    const path = this.game.paths[this.ply];
    const arrows = this.ply > 0 ? [{ path, kind: this.game.lines[this.ply] ? "played" : "last" }] : [];
    const text = this.game.texts[this.ply] || "Before the first move.";
    this.draw(this.game.positions[this.ply], arrows, text);
    this.text.textContent = text;
    this.moves.forEach((button, i) => {
      const here = i + 1 === this.ply;
      button.classList.toggle("current", here);
      if (here) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
      if (here && scroll) {
        const list = button.parentElement;
        const top = button.offsetTop - list.offsetTop;
        if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - 40;
      }
    });
    const x = (this.ply / Math.max(1, this.last)) * this.curve.viewBox.baseVal.width;
    const cursor = this.curve.querySelector(".cursor");
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }

  // Play the engine's line in place of a ply.
  begin(ply) {
    this.show(ply);
    this.line = { ply, at: 0 };
    this.step(1);
  }

  step(by) {
    const steps = this.game.lines[this.line.ply];
    const at = this.line.at + by;
    if (at < 1) {
      this.show(this.line.ply - 1);
      return;
    }
    this.line.at = Math.min(steps.length, at);
    const [, letters, path] = steps[this.line.at - 1];
    const played = steps.slice(0, this.line.at).map((step) => step[0]).join(" ");
    const text = `Better: ${played}${this.line.at < steps.length ? " ..." : ""}`;
    this.draw(letters, [{ path, kind: "best" }], text);
    this.text.textContent = text;
  }
}

// A view is made when its game comes near the screen: thousands of games cost nothing until then.
let current = null;
const views = new Map();
const sections = [...document.querySelectorAll("section.game")];
const viewOf = (section) => {
  if (!views.has(section)) views.set(section, new GameView(section));
  return views.get(section);
};
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      viewOf(entry.target);
      observer.unobserve(entry.target);
    }
  }
}, { rootMargin: "300px" });
sections.forEach((section) => observer.observe(section));

// The game that fills most of the screen takes the keys, unless one was clicked there.
function chosen() {
  const seen = (section) => {
    const box = section.getBoundingClientRect();
    return Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  };
  if (current && seen(current.section) > 0) return current;
  const best = sections.reduce((a, b) => (seen(b) > seen(a) ? b : a), sections[0]);
  return best ? viewOf(best) : null;
}

document.addEventListener("keydown", (event) => {
  const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", f: "flip", m: "mark" };
  const go = keys[event.key];
  if (!go || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = chosen();
  if (!view) return;
  event.preventDefault();
  view.go(go);
});

document.getElementById("filter").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  document.querySelectorAll("table.games tbody tr").forEach((row, i) => {
    const hidden = !row.textContent.toLowerCase().includes(wanted);
    row.hidden = hidden;
    sections[i].hidden = hidden;
  });
});
