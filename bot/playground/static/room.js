/* What a person sees in a room: the channel's messages with their replies counted,
   or one thread; and in both what only this person may see. Pure functions of the
   state. */

function byTime(one, other) {
  return one.ts < other.ts ? -1 : one.ts > other.ts ? 1 : 0;
}

function isRoot(message) {
  return !message.thread_ts || message.thread_ts === message.ts;
}

function stored(state, channel) {
  return (state.messages[channel] ?? [])
    .map((message) => ({ ...message, channel, key: message.ts }));
}

function nameOf(person, message) {
  return `${person}/${message.channel}/${message.ts}`;
}

/** Names for every ephemeral there is: at load those are gone, as in Slack. */
export function whispers(state) {
  return Object.entries(state.ephemeral)
    .flatMap(([person, list]) => list.map((message) => nameOf(person, message)));
}

function whispered(state, { person, channel, gone }) {
  return (state.ephemeral[person] ?? [])
    .filter((message) => message.channel === channel)
    .filter((message) => !gone.has(nameOf(person, message)))
    .map((message) => ({
      user: state.app.bot_user_id, ...message,
      key: `only ${message.ts}`, ephemeral: true,
    }));
}

/** The channel itself: roots with their replies counted. */
export function channelMessages(state, view) {
  const all = stored(state, view.channel);
  const roots = all.filter(isRoot).map((root) => {
    const replies = all.filter((one) => one.thread_ts === root.ts && one.ts !== root.ts);
    return { ...root, replies: { count: replies.length, last: replies.at(-1)?.ts } };
  });
  const own = whispered(state, view).filter((one) => !one.thread_ts);
  return [...roots, ...own].sort(byTime);
}

/** One thread: its root, then the replies. */
export function threadMessages(state, view, root) {
  const all = stored(state, view.channel)
    .filter((one) => one.ts === root || one.thread_ts === root);
  const own = whispered(state, view).filter((one) => one.thread_ts === root);
  return [...all, ...own].sort(byTime);
}

/** The rooms of a channel, itself and its threads, each with its newest timestamp. */
export function newest(state, channel) {
  const rooms = new Map();
  for (const one of state.messages[channel] ?? []) {
    rooms.set(isRoot(one) ? channel : `${channel}/${one.thread_ts}`, one.ts);
  }
  return rooms;
}
