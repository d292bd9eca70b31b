// The WebSocket to the server: questions with answers, and a connection that comes back by itself.
import { t } from "./labels.js";

const FIRST_WAIT = 300, MAX_WAIT = 8000; // milliseconds before another attempt
const OPENED_ELSEWHERE = 4000;

export class Connection {
  /**
   * @param handlers `hello()` returns the fields of the first message; `message(message)` takes what the
   *   server sends by itself; `online(yes, reason)` says when the connection comes and goes, with the
   *   reason "elsewhere" if this game was opened in another tab.
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.asked = new Map();
    this.next = 1;
    this.wait = FIRST_WAIT;
    this.ready = false;
    addEventListener("online", () => this.retry());
  }

  /** Connect; also again after a game was opened elsewhere. A socket from before says nothing any more. */
  open() {
    clearTimeout(this.timer);
    this.timer = null;
    this.ready = false;
    const url = new URL("ws", location.href.split(/[?#]/)[0]);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url), old = this.socket;
    this.socket = socket;
    old?.close();
    this.giveUp();
    socket.onopen = () => {
      if (socket !== this.socket) return;
      this.send("hello", this.handlers.hello()).then(() => {
        this.ready = true;
        this.wait = FIRST_WAIT;
        this.handlers.online(true);
      }, ({ message }) => {
        if (socket !== this.socket || socket.readyState !== WebSocket.OPEN) return;
        this.handlers.message({ type: "error", text: message });
        socket.close();
      });
    };
    socket.onmessage = (event) => socket === this.socket && this.received(JSON.parse(event.data));
    socket.onclose = (event) => socket === this.socket && this.closed(event.code === OPENED_ELSEWHERE);
  }

  /** Ask the server; resolves to the answer's fields, or rejects with an Error of its text. */
  ask(type, fields = {}) {
    return this.ready ? this.send(type, fields) : Promise.reject(new Error(t("offline")));
  }

  send(type, fields) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ ...fields, type, id }));
    });
  }

  received(message) {
    const { type, id, ...fields } = message;
    if (type !== "done" && type !== "error") {
      this.handlers.message(message);
      return;
    }
    const waiting = this.asked.get(id);
    this.asked.delete(id);
    if (type === "done") waiting?.resolve(fields);
    else if (waiting) waiting.reject(new Error(message.text));
    else this.handlers.message(message);
  }

  // No answer will come to what was asked.
  giveUp() {
    const lost = [...this.asked.values()];
    this.asked.clear();
    for (const { reject } of lost) reject(new Error(t("offline")));
  }

  closed(elsewhere) {
    this.ready = false;
    this.handlers.online(false, elsewhere ? "elsewhere" : "");
    this.giveUp();
    if (elsewhere) return;
    this.timer = setTimeout(() => this.open(), this.wait * (0.7 + 0.6 * Math.random()));
    this.wait = Math.min(MAX_WAIT, 2 * this.wait);
  }

  retry() {
    if (!this.timer) return; // connected, connecting, or opened elsewhere
    this.wait = FIRST_WAIT;
    this.open();
  }
}
