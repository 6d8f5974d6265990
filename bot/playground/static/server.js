/* The page's line to the playground server: its calls and its stream of states.
   The token comes from the page's own address and leaves only towards it. */

const token = new URLSearchParams(location.search).get("token") ?? "";
const AGAIN_MS = 1500;

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

/** Calls `onState` with each whole state, `onLine` with whether the line stands. */
export function follow(onState, onLine) {
  const stream = new EventSource(`/ui/stream?${new URLSearchParams({ token })}`);
  stream.addEventListener("state", (event) => {
    onLine(true);
    onState(JSON.parse(event.data));
  });
  stream.addEventListener("error", () => {
    onLine(false);
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(() => follow(onState, onLine), AGAIN_MS);
    }
  });
}
