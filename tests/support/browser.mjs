// A browser without a screen, for node: as much of the DOM as the pages use, timers that a test runs itself, and
// sockets whose other end is the test.
import { readFileSync } from "node:fs";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, names: new Map(), children: [], parentNode: null, listeners: {}, words: "" });
    Object.assign(this, { hidden: false, disabled: false, style: {}, value: "", offsetTop: 0, offsetLeft: 0 });
    Object.assign(this, { scrollTop: 0, scrollWidth: 0, clientWidth: 0, clientHeight: 400 });
    this.dataset = new Proxy({}, {
      get: (_, key) => this.names.get(`data-${key}`),
      set: (_, key, value) => Boolean(this.names.set(`data-${key}`, String(value))),
    });
    const all = () => (this.names.get("class") ?? "").split(" ").filter(Boolean);
    const put = (classes) => this.names.set("class", [...new Set(classes)].join(" "));
    this.classList = {
      add: (...more) => put([...all(), ...more]), remove: (...less) => put(all().filter((each) => !less.includes(each))),
      contains: (name) => all().includes(name),
      toggle: (name, on = !all().includes(name)) => this.classList[on ? "add" : "remove"](name),
    };
    this.viewBox = { baseVal: { width: 100 } };
  }

  setAttribute(name, value) {
    this.names.set(name, String(value));
    if (name === "hidden" || name === "disabled") this[name] = true;
  }

  getAttribute(name) { return this.names.get(name) ?? null; }
  removeAttribute(name) { this.names.delete(name); }
  get isConnected() { return document.body.contains(this); }
  get firstChild() { return this.children[0] ?? null; }
  get elements() { return this.children.filter((each) => each instanceof Element); }
  get parentElement() { return this.parentNode; }
  get textContent() { return this.children.map((each) => each.textContent ?? each).join(""); }
  set textContent(text) { this.replaceChildren(String(text)); }

  append(...children) {
    for (const each of children) {
      each.remove?.();
      if (each instanceof Element) each.parentNode = this;
      this.children.push(each);
    }
  }

  prepend(...children) {
    const rest = this.children;
    this.children = [];
    this.append(...children);
    this.children.push(...rest);
  }

  replaceChildren(...children) {
    for (const each of this.elements) each.remove();
    this.children = [];
    this.append(...children);
  }

  remove() {
    if (!this.parentNode) return;
    if (this.contains(document.activeElement)) document.activeElement = document.body;
    this.parentNode.children = this.parentNode.children.filter((each) => each !== this);
    this.parentNode = null;
  }

  contains(other) {
    return Boolean(other) && (other === this || this.contains(other.parentNode));
  }

  closest(selector) {
    return this.matches(selector) ? this : this.parentNode?.closest(selector) ?? null;
  }

  // Selectors of a tag, classes, attributes, with elements above; several with commas.
  matches(selector) {
    return selector.split(",").some((each) => {
      const parts = each.trim().split(" "), last = parts.pop();
      const [tag] = /^\w*/.exec(last);
      const classes = [...last.matchAll(/\.([\w-]+)/g)].every(([, name]) => this.classList.contains(name));
      const attributes = [...last.matchAll(/\[([\w-]+)(?:="?([^"\]]*)"?)?\]/g)].every(([, name, value]) =>
        this.names.has(name) && (value === undefined || this.names.get(name) === value));
      return (!tag || tag === this.tag) && classes && attributes && (!parts.length || this.parentNode?.closest(parts.join(" ")));
    });
  }

  querySelectorAll(selector) {
    return this.elements.flatMap((each) => [...(each.matches(selector) ? [each] : []), ...each.querySelectorAll(selector)]);
  }

  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  addEventListener(name, work) { (this.listeners[name] ??= []).push(work); }

  /** Tell the listeners here and above of an event; returns it. */
  send(name, fields = {}) {
    const event = { target: this, preventDefault() { this.defaultPrevented = true; }, stopPropagation() { this.ended = true; }, ...fields };
    for (let at = this; at && !event.ended; at = at.parentNode) {
      for (const work of at.listeners[name] ?? []) work(event);
    }
    if (!event.ended) for (const work of listeners[name] ?? []) work(event);
    return event;
  }

  /** Press a button, which has the focus then. */
  click(fields = {}) {
    this.focus();
    return this.send("click", { button: 0, ...fields });
  }

  focus() { if (!this.disabled) document.activeElement = this; }
  getBoundingClientRect() { return this.box ?? { top: 0, bottom: 100, left: 0, width: 100 }; }
  showModal() {}
  close() { this.send("close"); }
}

class Socket {
  static CONNECTING = 0;
  static OPEN = 1;

  constructor() {
    Object.assign(this, { readyState: Socket.CONNECTING, sent: [] });
    sockets.push(this);
  }

  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 2; }
  // What the other end does:
  open() { this.readyState = Socket.OPEN; this.onopen(); }
  say(message) { this.onmessage({ data: JSON.stringify(message) }); }
  gone(code = 1006) { this.readyState = 3; this.onclose({ code }); }
  asked(type) { return this.sent.filter((each) => each.type === type); }

  async answer(type, fields = {}) {
    this.say({ ...fields, type: "done", id: this.asked(type).at(-1).id });
    await settled();
  }

  async refuse(type, text) {
    this.say({ type: "error", text, id: this.asked(type).at(-1).id });
    await settled();
  }

  /** Answer the first message. */
  async greet(table = "KEY") {
    this.open();
    this.say({ ...MESSAGES.welcome, table });
    await this.answer("hello", { table });
  }
}

const listeners = {}, timers = new Map(), store = new Map();
export const MESSAGES = JSON.parse(readFileSync(new URL("messages.json", import.meta.url), "utf8"));
export const sockets = [];
/** Wait until all that is promised has been done. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Tell the page of an event of the window. */
export function happens(name, event = {}) {
  for (const work of listeners[name] ?? []) work(event);
}

/** Let all timers that wait fire. */
export function wait() {
  const waiting = [...timers.values()];
  timers.clear();
  for (const work of waiting) work();
}

let timer = 0;
const observer = class { observe() {} };
const body = new Element("body");
Object.assign(globalThis, {
  document: {
    body, activeElement: body, documentElement: new Element("html"), createElement: (tag) => new Element(tag),
    createElementNS: (_, tag) => new Element(tag), getElementById: (id) => body.querySelector(`[id="${id}"]`),
    querySelectorAll: (selector) => body.querySelectorAll(selector),
    querySelector: (selector) => body.querySelector(selector), addEventListener: (name, work) => addEventListener(name, work),
  },
  addEventListener: (name, work) => (listeners[name] ??= []).push(work), removeEventListener() {}, scrollTo() {},
  location: { hash: "", href: "http://127.0.0.1:8000/" }, history: { replaceState: (_, __, hash) => { location.hash = hash; } },
  sessionStorage: { getItem: (key) => store.get(key) ?? null, setItem: (key, value) => store.set(key, value) },
  localStorage: { getItem: () => null, setItem() {} }, matchMedia: () => ({ matches: true, addEventListener() {} }),
  ResizeObserver: observer, IntersectionObserver: observer, WebSocket: Socket, innerHeight: 800,
  setTimeout: (work) => timers.set(++timer, work) && timer, clearTimeout: (id) => timers.delete(id), setInterval() {},
});

/** Make an element with an id, a class and children, in the body. */
export function place(tag, names = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(names)) made.setAttribute(name, value);
  made.append(...children);
  body.append(made);
  return made;
}

export const find = (selector) => body.querySelector(selector);
export const all = (selector) => body.querySelectorAll(selector);
export const text = (selector) => find(selector)?.textContent ?? null;
/** The button of this name. */
export const button = (name) => all("button").find((each) => (each.getAttribute("aria-label") ?? each.textContent) === name);

/** Open the page of the board with an address; returns its socket, which the server has not answered. */
export async function page(hash = "") {
  for (const id of ["top", "banner", "main", "live", "toast"]) place("div", { id });
  find("[id=main]").append(place("div", { id: "stage" }), place("div", { id: "panel" }));
  location.hash = hash;
  await import("./main.js");
  return sockets.at(-1);
}

/** Open the page in a view, with a game. */
export async function opened(view = "play", change = {}) {
  const socket = await page(`#${view}/KEY`);
  await socket.greet();
  socket.say({ ...MESSAGES.state, ...change });
  await settled();
  return socket;
}
