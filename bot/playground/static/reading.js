/* How far each person has read each room, kept in this browser so that windows
   of the same playground agree. A room is a channel, or "channel/root" for a
   thread. */

const KEY = "countersign.playground.read";

export class Reading {
  constructor(team) {
    this.key = `${KEY}.${team}`;
    this.marks = this.load();
  }

  load() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      return {};
    }
  }

  /** What another window wrote meanwhile. */
  refresh() {
    this.marks = this.load();
  }

  upTo(person, room) {
    return this.marks[person]?.[room] ?? "";
  }

  see(person, room, ts) {
    if (!ts || this.upTo(person, room) >= ts) return false;
    this.marks[person] = { ...this.marks[person], [room]: ts };
    try {
      localStorage.setItem(this.key, JSON.stringify(this.marks));
    } catch {
      // A browser without storage forgets at reload; nothing else depends on it.
    }
    return true;
  }
}

/** The room in which a message stands. */
export function roomOf(state, channel, ts) {
  const message = (state.messages[channel] ?? []).find((one) => one.ts === ts);
  const root = message?.thread_ts;
  return root && root !== ts ? `${channel}/${root}` : channel;
}

export function unreadNotifications(state, reading, person) {
  return (state.notifications[person] ?? []).filter((note) =>
    note.ts > reading.upTo(person, roomOf(state, note.channel, note.ts)));
}

export function hasUnread(state, reading, person, channel) {
  const read = reading.upTo(person, channel);
  return (state.messages[channel] ?? []).some((message) =>
    message.ts > read && message.user !== person
    && (!message.thread_ts || message.thread_ts === message.ts));
}
