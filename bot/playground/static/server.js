/* The page's line to the playground server: its calls and its stream of states.
   The token comes from the page's own address and leaves only towards it. */

const token = new URLSearchParams(location.search).get("token") ?? "";
const AGAIN_MS = 1500;

/** What to say of the line, by how it stands. */
export const LINE = {
  up: "",
  down: "The playground does not answer. Trying again …",
  stranger: "This address has a wrong token; use the one printed at start.",
};

export function hasToken() {
  return token !== "";
}

/** The page's address as `person`, at one message: for a second window. */
export function addressOf(person, channel, ts) {
  const query = new URLSearchParams({ token, as: person });
  if (channel && ts) query.set("at", `${channel}:${ts}`);
  return `/?${query}`;
}

/** POST to the page API; every fault comes back as {ok: false, error}. */
export async function post(path, body) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Playground-Token": token },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    return typeof answer.ok === "boolean" ? answer : { ...answer, ok: response.ok };
  } catch {
    return { ok: false, error: "playground_unreachable" };
  }
}

/** GET from the page API; null when nothing readable came back. */
export async function read(path) {
  try {
    const response = await ask(path);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** Whether the playground answers, and does not know our token. */
async function isStranger() {
  try {
    return (await ask("/ui/state")).status === 401;
  } catch {
    return false;
  }
}

function ask(path) {
  return fetch(path, { headers: { "X-Playground-Token": token } });
}

/** Calls `onState` with each whole state, `onLine` with how the line stands: "up",
    "down", or "stranger" when the token is a wrong one, which no waiting mends. */
export function follow(onState, onLine) {
  const stream = new EventSource(`/ui/stream?${new URLSearchParams({ token })}`);
  stream.addEventListener("state", (event) => {
    onLine("up");
    onState(JSON.parse(event.data));
  });
  stream.addEventListener("error", async () => {
    if (stream.readyState !== EventSource.CLOSED) {
      onLine("down");
    } else if (await isStranger()) {
      onLine("stranger");
    } else {
      onLine("down");
      setTimeout(() => follow(onState, onLine), AGAIN_MS);
    }
  });
}
