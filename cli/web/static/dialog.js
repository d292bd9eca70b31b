// Questions over the page, in the browser's own <dialog>.
import { el, iconButton } from "./dom.js";
import { t } from "./labels.js";

/** Show a dialog; it is gone when it is closed. Returns it. */
export function openDialog(title, ...content) {
  const dialog = el("dialog", { "aria-label": title },
    el("div.dialog-head", {}, el("h2", {}, title), iconButton("close", t("close"), () => dialog.close())),
    ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Ask before something that cannot be taken back; resolves to whether it may be done. */
export function confirmed(title, text, yes, no = t("cancel")) {
  return new Promise((resolve) => {
    const dialog = openDialog(title, el("p", {}, text), el("div.actions", {},
      el("button.quiet", { click: () => dialog.close() }, no),
      el("button.danger", { click: () => { resolve(true); dialog.close(); } }, yes)));
    dialog.addEventListener("close", () => resolve(false));
  });
}
