/* The page put together: which person acts, which room is open, and what a new
   state changes on the screen. The state is the server's; the page adds only what
   a client of Slack keeps for itself: drafts, what is read, what is typed into forms,
   presses under way. */

import { Acts } from "./acts.js";
import { Composer } from "./composer.js";
import { Forms } from "./forms.js";
import { Home } from "./home.js";
import { MessageList } from "./messages.js";
import { Modal } from "./modal.js";
import { more } from "./more.js";
import { Names } from "./names.js";
import { drawPhones, drawToolLog } from "./phones.js";
import { hasUnread, Reading, roomOf } from "./reading.js";
import { channelMessages, newest, threadMessages, whispers } from "./room.js";
import { send } from "./sending.js";
import { follow, hasToken, LINE } from "./server.js";
import { channelsOf, drawSidebar, isApp, withDirect } from "./sidebar.js";
import { Steps } from "./steps.js";
import { drawTabs } from "./tabs.js";
import { Top } from "./top.js";
import { Wire } from "./wire.js";

const FIRST_WORDS = "/tool restart service=api";
const byId = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.state = null;
    this.places = new Map();
    this.tabs = new Map();
    this.drafts = new Map();
    this.acts = new Map();
    this.gone = new Set();
    this.troubles = new Map();
    this.rail = "phones";
    const again = () => this.draw();
    this.top = new Top({
      turnTo: (person) => this.go(person),
      complain: (about, words) => this.complain(about, words),
    });
    this.forms = new Forms(again);
    this.modal = new Modal(byId("veil"), byId("desk"));
    this.home = new Home(byId("home"), again);
    this.wire = new Wire(byId("wire"));
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
      send: (text) => send(text, {
        as: this.person, place: this.place, inThread, commands: this.state.commands,
        stored: (typed) => this.names.stored(typed),
      }),
      commands: () => (inThread ? [] : this.state.commands),
      mentions: () => this.names.mentions(),
    });
  }

  listen() {
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
    this.forms.receive(this.state);
    this.draw();
    this.wire.look();
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
    else if (!this.modal.open) this.composer.focus();
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
    if (this.place.tab === "home") this.home.look(person);
    this.draw();
  }

  channel(id) {
    return this.state.channels.find((channel) => channel.id === id);
  }

  /** Opens a channel; the app opens where it was left, but where something is new. */
  openChannel(id) {
    const kept = this.tabs.get(this.person);
    const fresh = hasUnread(this.state, this.reading, this.person, id);
    const some = (this.state.messages[id] ?? []).length > 0;
    const tab = fresh ? "messages" : kept ?? (some ? "messages" : "home");
    if (isApp(this.state, this.channel(id))) this.openTab(id, tab);
    else this.go(this.person, { channel: id, thread: null });
  }

  openTab(id, tab) {
    this.tabs.set(this.person, tab);
    this.go(this.person, { channel: id, thread: null, tab });
  }

  openHome() {
    const app = channelsOf(this.state, this.person).find((one) => isApp(this.state, one));
    if (app) this.openTab(app.id, "home");
  }

  openRail(name) {
    this.rail = name;
    if (getComputedStyle(byId("rail")).display === "none") this.unfold("rail");
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
    const { channel, thread, tab } = this.place;
    this.go(this.person, { channel, thread: null, tab });
    this.log.reveal(thread);
  }

  fillInThread({ channel, ts }, words) {
    this.go(this.person, { channel, thread: ts });
    this.threadComposer.put(words);
    this.threadComposer.focus();
  }

  fillIn(command) {
    const ops = this.state.channels.find((channel) => channel.name === "ops");
    if (ops) this.go(this.person, { channel: ops.id, thread: null });
    this.composer.put(command);
    this.composer.focus();
  }

  /** What the person acting did with the controls of a message. */
  actsOn({ channel, ts }) {
    const key = `${this.person}/${channel}/${ts}`;
    const kept = this.acts.get(key)
      ?? new Acts(this.person, { channel, ts }, () => this.draw());
    this.acts.set(key, kept);
    return kept;
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
    if (byId("confirm").open) return;
    if (this.modal.open) {
      this.modal.form.close();
      return;
    }
    const open = ["nav", "rail"].find((name) => byId("desk").classList.contains(`show-${name}`));
    this.fold();
    if (open) byId(`show-${open}`).focus();
  }

  draw() {
    const { channel, thread, tab } = this.place;
    this.drawSteps();
    this.drawRoom(channel, tab);
    this.drawThread(channel, thread);
    this.markRead(this.place);
    this.drawAround(channel);
    this.modal.show(this.state.views[this.person] ?? [], this.forms, this.names);
  }

  /** What shows who has something unread. */
  drawAround(channel) {
    const view = this.view(channel);
    this.top.draw(this);
    drawSidebar(byId("nav"), { ...view, open: (id) => this.openChannel(id) });
    this.drawRail(view);
  }

  drawSteps() {
    this.steps.draw(this.state, more(this.state, {
      fillIn: (command) => this.fillIn(command),
      fillInThread: (message, words) => this.fillInThread(message, words),
      openHome: () => this.openHome(),
      openWire: () => this.openRail("wire"),
    }));
  }

  drawRail(view) {
    const wire = this.rail === "wire";
    drawTabs(byId("rail-tabs"), {
      tabs: [
        { id: "phones", name: "Phones", panel: "watch" },
        { id: "wire", name: "Wire", panel: "wire" },
      ],
      open: this.rail, choose: (name) => this.openRail(name),
    });
    byId("watch").hidden = wire;
    byId("wire").hidden = !wire;
    byId("desk").classList.toggle("with-wire", wire);
    this.wire.show(wire, this.state);
    drawPhones(byId("phones"), { ...view, open: (person, note) => this.openNote(person, note) });
    drawToolLog(byId("tool-log"), this.state.tool_log);
  }

  view(channel) {
    const { state, reading, names, person, gone } = this;
    return { state, reading, names, person, gone, channel };
  }

  surface(openThread, empty) {
    const { names, person } = this;
    return {
      names, openThread, empty, version: `${person} ${names.signature}`,
      marksOf: (message) => {
        const acts = this.actsOn(message);
        return [[...acts.marks], acts.turn];
      },
      of: (message) => {
        const acts = this.actsOn(message);
        return {
          names, openThread,
          mark: (block, action) => acts.mark(block, action),
          press: (element, block) => acts.press(element, block),
          value: (element, block) => acts.value(element, block),
          typed: (element, block, value) => acts.typed(element, block, value),
          dispatch: (element, block) => acts.dispatch(element, block),
          error: () => undefined,
        };
      },
    };
  }

  drawRoom(channel, tab) {
    const name = channel ? this.names.channel(channel, this.person) : "No channel";
    const members = this.channel(channel)?.members ?? [];
    this.drawRoomTabs(channel, tab);
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

  /** The app's place has two tabs; any other room has its messages alone. */
  drawRoomTabs(channel, tab = "messages") {
    const app = isApp(this.state, this.channel(channel));
    const home = app && tab === "home";
    byId("room-tabs").hidden = !app;
    byId("room-people").hidden = app;
    byId("home").hidden = !home;
    byId("talk").hidden = home;
    for (const [name, value] of [["role", "tabpanel"], ["aria-labelledby", "tab-messages"]]) {
      if (app) byId("talk").setAttribute(name, value);
      else byId("talk").removeAttribute(name);
    }
    if (!app) return;
    drawTabs(byId("room-tabs"), {
      tabs: [
        { id: "home", name: "Home", panel: "home" },
        { id: "messages", name: "Messages", panel: "talk" },
      ],
      open: tab, choose: (name) => this.openTab(channel, name),
    });
    if (home) this.home.show(this.person, this.state.home[this.person], this.forms, this.names);
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
  markRead({ channel, thread, tab }) {
    if (document.hidden || tab === "home") return false;
    const opened = `${channel}/${thread}`;
    const seen = (room) => (room === opened ? this.threadLog : this.log).nearEnd();
    return [...newest(this.state, channel)]
      .filter(([room]) => seen(room))
      .map(([room, ts]) => this.reading.see(this.person, room, ts))
      .some(Boolean);
  }

  readOn() {
    if (!this.state) return;
    const place = this.place;
    if (this.markRead(place)) this.drawAround(place.channel);
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
