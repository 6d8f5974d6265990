/* The left side: the workspace's name, the channels and the direct messages of the
   person acting, with what is unread. */

import { el, fill } from "./dom.js";
import { hasUnread, unreadNotifications } from "./reading.js";

function visible(state, person) {
  return state.channels.filter((channel) =>
    channel.members.includes(person) && !channel.is_archived);
}

/** The state with everybody's direct messages with the app, even before the first. */
export function withDirect(state) {
  const bot = state.app.bot_user_id;
  const missing = state.users
    .filter((user) => !user.is_bot && !user.deleted)
    .filter((user) => !state.channels.some((channel) =>
      channel.is_im && channel.members.includes(user.id) && channel.members.includes(bot)))
    .map((user) => ({
      id: `D${user.id.slice(1)}`, name: "", is_im: true, is_private: true,
      is_archived: false, members: [user.id, bot],
    }));
  return { ...state, channels: [...state.channels, ...missing] };
}

/** Whether a channel is the app's own place: its Home and its messages. */
export function isApp(state, channel) {
  return Boolean(channel?.is_im) && channel.members.includes(state.app.bot_user_id);
}

/** The channels a person has, in the order of the list. */
export function channelsOf(state, person) {
  const mine = visible(state, person);
  return [...mine.filter((one) => !one.is_im), ...mine.filter((one) => one.is_im)];
}

function entry(channel, view) {
  const { state, reading, names, person } = view;
  const told = unreadNotifications(state, reading, person)
    .filter((note) => note.channel === channel.id).length;
  const unread = told > 0 || hasUnread(state, reading, person, channel.id);
  const name = names.channel(channel.id, person);
  const kind = channel.is_im ? "person" : channel.is_private ? "lock" : "hash";
  return el("li", {}, el("button", {
    type: "button", class: unread ? "entry unread" : "entry", "data-channel": channel.id,
    "aria-label": name, "aria-current": channel.id === view.channel ? "true" : undefined,
    "aria-description": told ? `${told} for you` : unread ? "unread" : undefined,
    click: () => view.open(channel.id),
  },
  el("span", { class: `kind ${kind}` }),
  el("span", { class: "name" }, channel.is_im ? name : channel.name),
  told ? el("span", { class: "count" }, String(told)) : null));
}

function group(title, channels, view) {
  if (!channels.length) return null;
  return el("section", { "aria-label": title },
    el("h2", {}, title),
    el("ul", {}, ...channels.map((channel) => entry(channel, view))));
}

export function drawSidebar(node, view) {
  const focused = node.contains(document.activeElement)
    ? document.activeElement.dataset.channel : null;
  const mine = visible(view.state, view.person);
  fill(node,
    el("p", { class: "team" }, view.state.team.domain),
    group("Channels", mine.filter((one) => !one.is_im), view),
    group("Direct messages", mine.filter((one) => one.is_im && !isApp(view.state, one)), view),
    group("Apps", mine.filter((one) => isApp(view.state, one)), view));
  if (focused) node.querySelector(`[data-channel="${CSS.escape(focused)}"]`)?.focus();
}
