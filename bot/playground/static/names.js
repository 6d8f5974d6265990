/* What the ids of one state are called: people, groups and channels, and who the
   page can act as. Unknown ids are shown as they are, never guessed. */

function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export function shortName(user) {
  return capital((user.real_name || user.name || user.id).split(" ")[0]);
}

export class Names {
  constructor(state) {
    this.users = new Map(state.users.map((user) => [user.id, user]));
    this.groups = new Map(state.usergroups.map((group) => [group.id, group]));
    this.channels = new Map(state.channels.map((channel) => [channel.id, channel]));
    this.bot = state.app.bot_user_id;
    this.order = state.users.map((user) => user.id);
    this.signature = JSON.stringify([state.users, state.usergroups, state.channels]);
  }

  people() {
    return [...this.users.values()].filter((user) => !user.is_bot && !user.deleted);
  }

  isBot(id) {
    return id === this.bot || id === "USLACKBOT" || Boolean(this.users.get(id)?.is_bot);
  }

  user(id) {
    const user = this.users.get(id);
    if (user) return capital(user.real_name || user.name || id);
    return { [this.bot]: "Countersign", USLACKBOT: "Slackbot" }[id] ?? String(id);
  }

  short(id) {
    return this.users.has(id) ? shortName(this.users.get(id)) : this.user(id);
  }

  group(id) {
    return this.groups.get(id)?.handle ?? String(id);
  }

  /** A colour of the small palette, the same for a person all through. */
  tone(id) {
    return this.isBot(id) ? "bot" : String(Math.max(0, this.order.indexOf(id)) % 6);
  }

  /** "#ops" for everybody, or the other person's name in direct messages. */
  channel(id, reader) {
    const channel = this.channels.get(id);
    if (!channel) return String(id);
    if (!channel.is_im) return `#${channel.name}`;
    const others = channel.members.filter((member) => member !== reader);
    return others.length ? this.user(others[0]) : "Yourself";
  }

  /** What may be typed after an @, each with what it is. */
  mentions() {
    const users = [...this.users.values()].filter((user) => !user.deleted);
    const groups = [...this.groups.values()];
    return [
      ...users.map((user) => ({ word: this.short(user.id), about: user.is_bot ? "app" : "" })),
      ...groups.map((group) => ({ word: group.handle, about: "group" })),
    ];
  }

  /** The id behind `@word` as typed by a person, as Slack would write it. */
  reference(word) {
    const wanted = word.toLowerCase();
    for (const user of this.users.values()) {
      const known = [user.name, shortName(user), user.real_name];
      if (known.some((name) => name?.toLowerCase() === wanted)) return `<@${user.id}>`;
    }
    for (const group of this.groups.values()) {
      if (group.handle.toLowerCase() === wanted) return `<!subteam^${group.id}>`;
    }
    return null;
  }

  /** What a person typed, in the form in which Slack stores it. */
  stored(typed) {
    const escaped = typed
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;");
    return escaped.replace(/(^|[\s(])@([\p{L}\d._-]*[\p{L}\d])/gu, (whole, lead, word) => {
      const reference = this.reference(word);
      return reference ? lead + reference : whole;
    });
  }
}
