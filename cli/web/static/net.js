// The connection to the server: one WebSocket, over which everything is asked for. And the browser's storage.

const FIRST_WAIT = 300, MAX_WAIT = 8000; // milliseconds before another attempt to connect
const active = new Map(); // what has been asked for and is not over, by its number
let socket = null, number = 0, wait = FIRST_WAIT;

/** Connect, again whenever the connection is lost; `told` whether it is there. What is not over is asked for again. */
export function connect(told) {
  const address = new URL("ws", location.href.split(/[?#]/)[0]);
  address.protocol = address.protocol.replace("http", "ws");
  socket = new WebSocket(address);
  socket.onopen = () => {
    wait = FIRST_WAIT;
    told(true);
    for (const { message } of active.values()) send(message);
  };
  socket.onmessage = ({ data }) => {
    const { id, ...answer } = JSON.parse(data), asked = active.get(id);
    if (answer.final) active.delete(id);
    asked?.told(answer);
  };
  socket.onclose = () => {
    told(false);
    setTimeout(() => connect(told), wait * (0.7 + 0.6 * Math.random()));
    wait = Math.min(MAX_WAIT, 2 * wait);
  };
}
function send(message) { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); }

/** Ask the server; `told` each answer, of which the last one is `final`, maybe with an `error`. Returns what ends it: by "stop"
 * or "now", without a result or with the one so far. */
export function request(kind, fields, told) {
  const id = ++number, message = { id, kind, ...fields };
  active.set(id, { message, told });
  send(message);
  return (how) => {
    if (how === "stop") active.delete(id);
    send({ id, kind: how });
  };
}

/** Resolve to the last answer that `begin(told)` leads to, or reject with its error. */
export const last = (begin) => new Promise((resolve, reject) => begin((answer) => {
  if (answer.error) reject(new Error(answer.error));
  else if (answer.final) resolve(answer);
}));

/** Ask the server, and resolve to its answer. */
export const ask = (kind, fields) => last((told) => request(kind, fields, told));

/** What is stored under a name in this browser, or null. */
export function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch { // storage is switched off, or something else is there
    return null;
  }
}

/** Store a value under a name; null: nothing. Returns whether that worked. */
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
    return true;
  } catch { // switched off, or full
    return false;
  }
}
