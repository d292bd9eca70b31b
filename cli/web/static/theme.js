// Light and dark: as the system says, until a person switches; the choice is remembered.
import { iconButton } from "./dom.js";
import { t } from "./labels.js";

const KEY = "ckai-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch { // storage is switched off
    return null;
  }
}

/** Return a button that switches between light and dark. */
export function themeButton() {
  const { dataset } = document.documentElement;
  const theme = () => dataset.theme ?? (dark.matches ? "dark" : "light");
  const holder = document.createElement("div");
  holder.className = "theme";
  const draw = () => {
    const other = theme() === "dark" ? "light" : "dark";
    holder.replaceChildren(iconButton(other === "light" ? "sun" : "moon", t(`to ${other}`), () => {
      dataset.theme = other;
      try {
        localStorage.setItem(KEY, other);
      } catch { /* it lasts until the page is left */ }
      draw();
      holder.firstChild.focus();
    }));
  };
  const before = remembered();
  if (before === "light" || before === "dark") dataset.theme = before;
  dark.addEventListener("change", draw);
  draw();
  return holder;
}
