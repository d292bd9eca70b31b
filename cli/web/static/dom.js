// Elements from data. Text from the server only ever becomes text or an attribute.
import { svgElement } from "./board.js";
import { ICONS } from "./icons.js";

/**
 * Make an element.
 * @param what a tag with classes, such as "button.primary".
 * @param options attributes; functions become listeners of the event they are named after, such as `click`;
 *   null, undefined and false are left out.
 * @param children elements and texts; null and false are left out.
 */
export function el(what, options = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  if (tag === "button") made.type = "button";
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "class") made.classList.add(...(value ? value.split(" ") : []));
    else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

const BUTTONS = "button, select";

// The buttons of an element that are called like one of them.
function alike(parent, button) {
  const name = (each) => each.dataset.key ?? each.getAttribute("aria-label") ?? each.textContent;
  return [...parent.querySelectorAll(BUTTONS)].filter((each) => name(each) === name(button));
}

/** Put other children into an element; the focus goes from a button to the new one of its `data-key` or name. */
export function refill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const at = focused?.matches(BUTTONS) ? alike(parent, focused).indexOf(focused) : -1;
  parent.replaceChildren(...children);
  if (at >= 0) alike(parent, focused)[at]?.focus({ preventScroll: true });
}

/** Return one of the page's own drawings as an <svg>. */
export function icon(name) {
  return svgElement("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    svgElement("path", { d: ICONS[name] }));
}

/** Make a button with a drawing; its name is shown beside it or, with `bare`, read by screen readers alone. */
export function iconButton(name, label, click, { bare = true, ...options } = {}) {
  return el(bare ? "button.tool" : "button.labelled", { click, ...(bare && { "aria-label": label, title: label }),
    ...options }, icon(name), bare ? null : label);
}

/** Make a <select>; `choices` are [value, text] pairs. */
export function select(choices, value, change, options = {}) {
  const made = el("select", { ...options, change: () => change(made.value) },
    ...choices.map(([each, text]) => el("option", { value: each }, text)));
  made.value = value;
  return made;
}

/** Make a label around a field. */
export function field(text, input) {
  return el("label.field", {}, el("span", {}, text), input);
}

/** Make a switch: a button that is pressed or not. */
export function toggle(text, pressed, change) {
  const made = el("button.switch", {
    role: "switch", "aria-checked": String(pressed),
    click: () => {
      const now = made.getAttribute("aria-checked") !== "true";
      made.setAttribute("aria-checked", String(now));
      change(now);
    },
  }, el("span.knob"), text);
  return made;
}

/**
 * Make tabs over panels.
 * @param tabs [key, text, element] triples.
 * @param chosen called with the key of the tab that is shown.
 * @returns the element; its `open(key)` shows a tab.
 */
export function tabs(name, list, chosen = () => {}) {
  const buttons = list.map(([key, text]) => el("button.tab", {
    role: "tab", id: `${name}-tab-${key}`, "aria-controls": `${name}-${key}`, click: () => open(key),
  }, text));
  const panels = list.map(([key, , content]) => el("div.tabpanel", {
    role: "tabpanel", id: `${name}-${key}`, "aria-labelledby": `${name}-tab-${key}`, tabindex: "-1",
  }, content));
  const bar = el("div.tabs", { role: "tablist", keydown: (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const at = (buttons.indexOf(document.activeElement) + step + list.length) % list.length;
    event.stopPropagation();
    open(list[at][0]);
    buttons[at].focus();
  } }, ...buttons);
  const made = el("div.tabbed", {}, bar, ...panels);
  function open(key) {
    list.forEach(([each], i) => {
      buttons[i].setAttribute("aria-selected", String(each === key));
      buttons[i].tabIndex = each === key ? 0 : -1;
      panels[i].hidden = each !== key;
    });
    made.shown = key;
    chosen(key);
  }
  made.open = open;
  open(list[0][0]);
  return made;
}
