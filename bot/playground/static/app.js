/* The page put together: which person acts, which room is open, and what a new
   state changes on the screen. The state is the server's; the page adds only what
   a client of Slack keeps for itself: drafts, what is read, presses under way. */

import { failure } from "./blocks.js";
import { Composer } from "./composer.js";
import { agreed } from "./dialog.js";
import { el, fill } from "./dom.js";
import { MessageList } from "./messages.js";
import { Names } from "./names.js";
import { drawPhones, drawToolLog } from "./phones.js";
import { Reading, roomOf, unreadNotifications } from "./reading.js";
import { channelMessages, newest, threadMessages, whispers } from "./room.js";
import { follow, hasToken, post } from "./server.js";
import { channelsOf, drawSidebar, withDirect } from "./sidebar.js";
import { Steps } from "./steps.js";

const FIRST_WORDS = "/tool restart service=api";
const LINE = {
  up: "",
  down: "The playground does not answer. Trying again …",
  stranger: "This address has a wrong token; use the one printed at start.",
};
const byId = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.state = null;
    this.places = new Map();
    this.drafts = new Map();
    this.marks = new Map();
    this.gone = new Set();
    this.troubles = new Map();
    this.switching = false;
    this.log = new MessageList(byId("log"), byId("scroll"));
    this.threadLog = new MessageList(byId("thread-log"), byId("thread-scroll"));
    this.steps = new Steps(byId("steps"), (command) => this.fillIn(command));
    this.composer = this.makeComposer("composer", false);
    this.threadComposer = this.makeComposer("thread-composer", true);
    this.listen();
  }

  makeComposer(id, inThread) {
    return new Composer(byId(id), {
      drafts: this.drafts,
      send: (text) => this.send(text, inThread),
      commands: () => (inThread ? [] : this.state.commands),
      mentions: () => this.mentions(),
    });
  }

  listen() {
    byId("bot-switch").addEventListener("click", () => this.switchBot());
    byId("close-thread").addEventListener("click", () => this.closeThread());
    byId("show-nav").addEventListener("click", () => this.unfold("nav"));
    byId("show-rail").addEventListener("click", () => this.unfold("rail"));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.escape();
    });
    window.addEventListener("storage", () => {
      this.reading?.refresh();
      if (this.state) this.draw();
    });
    for (const id of ["scroll", "thread-scroll"]) {
      byId(id).addEventListener("scroll", () => this.readOn());
    }
    document.addEventListener("visibilitychange", () => this.state && this.draw());
  }

  receive(state) {
    const first = this.state === null;
    this.state = withDirect(state);
    this.names = new Names(this.state);
    if (first) this.begin();
    this.names.reader = this.person;
    this.draw();
    if (first) this.arrive();
  }

  /** At load: who acts, and which ephemerals were there before and are gone. */
  begin() {
    const query = new URLSearchParams(location.search);
    const people = this.names.people();
    const wanted = people.find((user) => user.id === query.get("as"));
    this.person = (wanted ?? people[0]).id;
    this.reading = new Reading(this.state.team.id);
    this.gone = new Set(whispers(this.state));
    const ops = this.state.channels.find((channel) => channel.name === "ops");
    const untouched = this.state.tool_log.length === 0
      && Object.values(this.state.notifications).every((list) => list.length === 0);
    const offered = this.state.commands.some(({ command }) => command === "/tool");
    if (ops && untouched && offered) {
      this.drafts.set(`${people[0].id} ${ops.id}`, FIRST_WORDS);
    }
  }

  arrive() {
    const [channel, ts] = new URLSearchParams(location.search).get("at")?.split(":") ?? [];
    if (channel && ts) this.openNote(this.person, { channel, ts });
    else this.composer.focus();
  }

  get place() {
    const channels = channelsOf(this.state, this.person);
    const kept = this.places.get(this.person);
    if (kept && channels.some((channel) => channel.id === kept.channel)) return kept;
    const ops = channels.find((channel) => channel.name === "ops") ?? channels[0];
    return { channel: ops?.id ?? null, thread: null };
  }

  go(person, place) {
    if (person !== this.person) {
      this.person = person;
      this.names.reader = person;
      const address = new URL(location.href);
      address.searchParams.set("as", person);
      address.searchParams.delete("at");
      history.replaceState(null, "", address);
    }
    if (place) this.places.set(person, place);
    this.fold();
    this.draw();
  }

  openNote(person, { channel, ts }) {
    const room = roomOf(this.state, channel, ts);
    const thread = room === channel ? null : room.slice(channel.length + 1);
    this.go(person, { channel, thread });
    (thread ? this.threadLog : this.log).reveal(ts);
  }

  openThread(message) {
    this.go(this.person, { channel: this.place.channel, thread: message.ts });
    this.threadComposer.focus();
  }

  closeThread() {
    const { channel, thread } = this.place;
    this.go(this.person, { channel, thread: null });
    this.log.reveal(thread);
  }

  fillIn(command) {
    const ops = this.state.channels.find((channel) => channel.name === "ops");
    if (ops) this.go(this.person, { channel: ops.id, thread: null });
    this.composer.put(command);
    this.composer.focus();
  }

  mentions() {
    const users = [...this.names.users.values()].filter((user) => !user.deleted);
    const groups = [...this.names.groups.values()];
    return [
      ...users.map((user) => ({ word: this.names.short(user.id), about: user.is_bot ? "app" : "" })),
      ...groups.map((group) => ({ word: group.handle, about: "group" })),
    ];
  }

  /** Sends what was written; answers with what to say when it failed. */
  async send(text, inThread) {
    const { channel, thread } = this.place;
    const words = text.startsWith("/") ? this.command(text, channel, inThread) : null;
    const answer = await (words ?? post("/ui/message", {
      as: this.person, channel, text: this.names.stored(text),
      ...(inThread ? { thread_ts: thread } : {}),
    }));
    // What went wrong behind a delivery is told by Slackbot, in the room.
    return answer.ok || answer.delivery ? null : answer.words ?? failure(answer.error);
  }

  async command(text, channel, inThread) {
    const [, command, rest] = /^(\/\S*)\s*([\s\S]*)$/.exec(text);
    if (inThread) {
      return { ok: false, words: `${command} does not work in threads. Type it in the channel.` };
    }
    const known = this.state.commands.map((one) => one.command);
    if (!known.includes(command)) {
      const list = known.join(", ") || "none";
      return { ok: false, words: `${command} is not a valid command. Commands here: ${list}.` };
    }
    return post("/ui/command", { as: this.person, channel, command, text: rest });
  }

  async press(message, element, block) {
    const node = byId("confirm");
    if (element.confirm && !(await agreed(node, element.confirm))) return;
    const as = this.person;
    const own = `${as}/${message.channel}/${message.ts}/`;
    for (const key of [...this.marks.keys()]) {
      if (key.startsWith(own) && !this.marks.get(key).busy) this.marks.delete(key);
    }
    const key = `${own}${block.block_id}/${element.action_id}`;
    this.marks.set(key, { busy: true });
    this.draw();
    const answer = await post("/ui/act", {
      as, channel: message.channel, ts: message.ts,
      action_id: element.action_id, block_id: block.block_id,
    });
    if (answer.ok) this.marks.delete(key);
    else this.marks.set(key, { failed: answer.error ?? "unknown_error" });
    this.draw();
  }

  async switchBot() {
    if (this.switching) return;
    this.switching = true;
    const kill = this.state.bot === "up";
    this.drawBot(kill ? "Stopping" : "Starting");
    const answer = await post("/ui/bot", { do: kill ? "kill" : "start" });
    this.switching = false;
    const fault = `The bot could not be ${kill ? "killed" : "started"}: ${answer.error}`;
    this.complain("bot", answer.ok ? "" : fault);
    // The next state says so too; until it comes the button must not offer the same.
    if (answer.ok) this.state.bot = kill ? "down" : "up";
    this.drawBot();
  }

  /** Shows what is wrong, by what it is wrong with; no words take it back. */
  complain(about, words) {
    this.troubles.set(about, words);
    const text = [...this.troubles.values()].filter(Boolean).join(" ");
    byId("trouble").textContent = text;
    byId("trouble").hidden = !text;
  }

  unfold(name) {
    const open = !byId("desk").classList.contains(`show-${name}`);
    this.fold();
    byId("desk").classList.toggle(`show-${name}`, open);
    byId(`show-${name}`).setAttribute("aria-expanded", String(open));
  }

  fold() {
    for (const name of ["nav", "rail"]) {
      byId("desk").classList.remove(`show-${name}`);
      byId(`show-${name}`).setAttribute("aria-expanded", "false");
    }
  }

  escape() {
    const open = ["nav", "rail"].find((name) => byId("desk").classList.contains(`show-${name}`));
    this.fold();
    if (open) byId(`show-${open}`).focus();
  }

  draw() {
    const { channel, thread } = this.place;
    this.drawBot();
    this.steps.draw(this.state);
    this.drawRoom(channel);
    this.drawThread(channel, thread);
    this.markRead(channel, thread);
    this.drawAround(channel);
  }

  /** What shows who has something unread. */
  drawAround(channel) {
    this.drawPeople();
    const view = this.view(channel);
    drawSidebar(byId("nav"), {
      ...view, open: (id) => this.go(this.person, { channel: id, thread: null }),
    });
    drawPhones(byId("phones"), { ...view, open: (person, note) => this.openNote(person, note) });
    drawToolLog(byId("tool-log"), this.state.tool_log);
  }

  view(channel) {
    const { state, reading, names, person, gone } = this;
    return { state, reading, names, person, gone, channel };
  }

  drawPeople() {
    const holder = byId("people");
    const people = this.names.people();
    const drawn = [...holder.querySelectorAll("input")].map((input) => input.value).join();
    if (drawn !== people.map((user) => user.id).join()) {
      fill(holder, ...people.map((user) => el("label", {},
        el("input", {
          type: "radio", name: "as", value: user.id, change: () => this.go(user.id),
        }),
        el("span", {}, this.names.short(user.id)))));
    }
    const told = (id) => unreadNotifications(this.state, this.reading, id).length > 0;
    for (const input of holder.querySelectorAll("input")) {
      input.checked = input.value === this.person;
      input.parentNode.classList.toggle("told-person", told(input.value));
    }
    const anybody = people.some((user) => told(user.id));
    byId("show-rail").classList.toggle("told-person", anybody);
    document.title = `${this.names.short(this.person)} · Countersign playground`;
  }

  drawBot(doing) {
    if (this.switching && !doing) return;
    const up = this.state.bot === "up";
    const shown = byId("bot-state");
    const words = doing ? `${doing} …` : up ? "Bot is up" : "Bot is down";
    if (shown.textContent !== words) shown.textContent = words;
    shown.className = `bot-state ${doing ? "busy" : this.state.bot}`;
    const button = byId("bot-switch");
    button.hidden = false;
    button.className = `button small ${up ? "danger" : "primary"}`;
    button.setAttribute("aria-disabled", String(Boolean(doing)));
    if (!doing) button.textContent = up ? "Kill the bot" : "Start the bot";
  }

  surface(openThread, empty) {
    const { names, person } = this;
    const own = (message) => `${person}/${message.channel}/${message.ts}/`;
    const marksOf = (message) =>
      [...this.marks].filter(([key]) => key.startsWith(own(message)));
    return {
      names, openThread, empty, marksOf, version: `${person} ${names.signature}`,
      of: (message) => ({
        names, openThread,
        mark: (block, action) => this.marks.get(`${own(message)}${block}/${action}`),
        press: (element, block) => this.press(message, element, block),
      }),
    };
  }

  drawRoom(channel) {
    const name = channel ? this.names.channel(channel, this.person) : "No channel";
    const members = this.state.channels.find((one) => one.id === channel)?.members ?? [];
    byId("room-name").textContent = name;
    byId("room-people").textContent = members.map((id) => this.names.short(id)).join(", ");
    byId("log").setAttribute("aria-label", `Messages in ${name}`);
    const surface = this.surface((message) => this.openThread(message),
      `No messages in ${name} yet.`);
    const shown = channelMessages(this.state, this.view(channel));
    this.log.show(`${this.person} ${channel}`, shown, surface);
    this.composer.show({
      owner: this.person, key: `${this.person} ${channel}`, label: `Message ${name}`,
      hint: `Message ${name}`, action: "Send",
    });
  }

  drawThread(channel, root) {
    const pane = byId("thread");
    pane.hidden = !root;
    byId("desk").classList.toggle("with-thread", Boolean(root));
    if (!root) return;
    byId("thread-room").textContent = this.names.channel(channel, this.person);
    const surface = this.surface(null, "This message is gone.");
    this.threadLog.show(`${this.person} ${channel} ${root}`,
      threadMessages(this.state, this.view(channel), root), surface);
    this.threadComposer.show({
      owner: this.person, key: `${this.person} ${channel} ${root}`,
      label: "Reply in thread", hint: "Reply …", action: "Reply",
    });
  }

  /** What lies open and is scrolled to its end is read; a channel with the replies
      that it counts. Answers with whether anything was unread before. */
  markRead(channel, thread) {
    if (document.hidden) return false;
    const opened = `${channel}/${thread}`;
    const seen = (room) => (room === opened ? this.threadLog : this.log).nearEnd();
    return [...newest(this.state, channel)]
      .filter(([room]) => seen(room))
      .map(([room, ts]) => this.reading.see(this.person, room, ts))
      .some(Boolean);
  }

  readOn() {
    if (!this.state) return;
    const { channel, thread } = this.place;
    if (this.markRead(channel, thread)) this.drawAround(channel);
  }
}

function start() {
  const page = new Page();
  if (!hasToken()) {
    page.complain("line", "This address has no token. Open the one that the playground printed.");
    return;
  }
  follow((state) => page.receive(state), (stands) => page.complain("line", LINE[stands]));
}

start();
