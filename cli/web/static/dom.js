// Elements from data. Text from the server only ever becomes text or an attribute.
import { svgElement } from "./board.js";
import { ICONS } from "./icons.js";

const BUTTONS = "button, select, [role=switch]";
const there = (each) => each !== null && each !== undefined && each !== false;

/**
 * Make an element.
 * @param what a tag with classes, such as "button.primary".
 * @param options attributes; functions become listeners of the event they are named after, such as `click`;
 *   null, undefined and false are left out, among the children too.
 */
export function el(what, options = {}, ...children) {
  const [tag, ...classes] = what.split("."), made = document.createElement(tag);
  made.classList.add(...classes);
  if (tag === "button") made.type = "button";
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "class") made.classList.add(...(value ? value.split(" ") : []));
    else if (there(value)) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(there));
  return made;
}

/** Put other children into an element; the focus goes from a button to the new one of its `data-key` or name. */
export function refill(parent, ...children) {
  const name = (each) => each.dataset.key ?? each.getAttribute("aria-label") ?? each.textContent;
  const alike = (button) => [...parent.querySelectorAll(BUTTONS)].filter((each) => name(each) === name(button));
  const focused = parent.contains(document.activeElement) && document.activeElement.matches(BUTTONS) ? document.activeElement : null;
  const at = focused ? alike(focused).indexOf(focused) : -1;
  parent.replaceChildren(...children.filter(there));
  if (focused) alike(focused)[at]?.focus({ preventScroll: true });
}

/** Return one of the page's own drawings as an <svg>. */
export function icon(name) {
  return svgElement("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svgElement("path", { d: ICONS[name] }));
}

/** Make a button with a drawing; its name is shown next to it or, with `bare`, read by screen readers alone. */
export function iconButton(name, label, click, { bare = true, ...options } = {}) {
  return el(bare ? "button.tool" : "button.labelled", { click, ...(bare && { "aria-label": label, title: label }), ...options },
    icon(name), bare ? null : label);
}

/** Make a <select>; `choices` are [value, text] pairs. */
export function select(choices, value, change, options = {}) {
  const made = el("select", { ...options, change: () => change(made.value) }, ...choices.map(([each, text]) => el("option", { value: each }, text)));
  made.value = value;
  return made;
}

/** Make a group of buttons of which one is pressed; `choices` as above. Its `pick(value)` presses one. */
export function segments(title, choices, value, change) {
  const buttons = choices.map(([each, text]) => [each, el("button", { click: () => { made.pick(each); change(each); } }, text)]);
  const made = el("fieldset.choice", {}, el("legend", {}, title), el("div.segments", {}, ...buttons.map(([, button]) => button)));
  made.pick = (now) => buttons.forEach(([each, button]) => button.setAttribute("aria-pressed", String(each === now)));
  made.pick(value);
  return made;
}

/** Make a label around a field. */
export const field = (text, input) => el("label.field", {}, el("span", {}, text), input);

/** Make a switch, which is on or off. */
export function toggle(text, checked, change) {
  const input = el("input", { type: "checkbox", role: "switch", "aria-label": text, checked, change: () => change(input.checked) });
  return el("label.switch", {}, input, el("span.switch-text", {}, text));
}

/** Make tabs over panels: [key, text, element, draw], of which `draw` is called when the panel is opened and by `draw()`. */
export function tabs(name, list) {
  const buttons = list.map(([key, text]) => el("button.tab", { role: "tab", id: `${name}-tab-${key}`, "aria-controls": `${name}-${key}`,
    click: () => open(key) }, text));
  const panels = list.map(([key, , content]) => el("div.tabpanel", { role: "tabpanel", id: `${name}-${key}`,
    "aria-labelledby": `${name}-tab-${key}`, tabindex: "-1" }, content));
  const made = el("div.tabbed", {}, el("div.tabs", { role: "tablist", keydown: (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const at = (buttons.indexOf(document.activeElement) + step + list.length) % list.length;
    event.stopPropagation();
    open(list[at][0]);
    buttons[at].focus();
  } }, ...buttons), ...panels);
  function open(key) {
    list.forEach(([each], i) => {
      buttons[i].setAttribute("aria-selected", String(each === key));
      buttons[i].tabIndex = each === key ? 0 : -1;
      panels[i].hidden = each !== key;
    });
    made.draw = list.find(([each]) => each === key)[3] ?? (() => {});
    made.draw();
  }
  open(list[0][0]);
  return made;
}

/** A table of cells, which are texts or elements. */
export const table = (heads, rows) => el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
  el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, cell))))));

/** A share from 0 to 1 as a bar with its number. */
export function bar(share, name, text = `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`) {
  const fill = el("span.share-fill", { class: name });
  fill.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  return el("span.share", {}, el("span.share-bar", {}, fill), el("span.share-text", {}, String(text)));
}

/** Show a dialog with buttons, [text, click, class] triples; it is gone when it is closed. Returns it. */
export function openDialog(title, content, buttons) {
  const dialog = el("dialog", { "aria-label": title, close: () => dialog.remove(), click: ({ target }) => target === dialog && dialog.close() },
    el("div.dialog-head", {}, el("h2", {}, title), iconButton("close", "Close", () => dialog.close())), content,
    el("div.actions", {}, ...buttons.map(([text, click, name]) => el("button", { class: name, click: click ?? (() => dialog.close()) }, text))));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Ask before something that cannot be taken back; resolves to whether it may be done. */
export function confirmed(title, text, yes, no = "Cancel") {
  return new Promise((resolve) => {
    const dialog = openDialog(title, el("p", {}, text), [[no, null, "quiet"], [yes, () => { resolve(true); dialog.close(); }, "danger"]]);
    dialog.addEventListener("close", () => resolve(false));
  });
}
