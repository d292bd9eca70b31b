// Requests to the server, which a page that was exported does without, and the browser's storage.

/** Ask for JSON; an Error has the one line that the server answers. */
export const get = (address) => answered(fetch(address));

/** Send JSON, or bytes as they are. */
export const post = (address, fields) => answered(fetch(address,
  { method: "POST", body: fields instanceof Uint8Array ? fields : JSON.stringify(fields) }));

async function answered(asked) {
  const response = await asked.catch(() => {
    throw new Error("the server does not answer; your game is safe in this browser, try again in a moment");
  });
  const text = await response.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(text.split("\n")[0] || response.statusText);
  }
  if (!response.ok) throw new Error(found.error);
  return found;
}

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
