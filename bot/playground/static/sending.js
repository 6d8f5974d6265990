/* Sends what a person wrote, a message or a command, and says what went wrong with it
   where nobody else does: what fails behind a delivery is told by Slackbot, in the room. */

import { failure } from "./blocks.js";
import { post } from "./server.js";

/** Answers with words on why it was not sent, or null. `place` is {channel, thread}. */
export async function send(text, { as, place, inThread, commands, stored }) {
  const answer = text.startsWith("/")
    ? await command(text, { as, place, inThread, commands })
    : await post("/ui/message", {
      as, channel: place.channel, text: stored(text),
      ...(inThread ? { thread_ts: place.thread } : {}),
    });
  return answer.ok || answer.delivery ? null : answer.words ?? failure(answer.error);
}

async function command(text, { as, place, inThread, commands }) {
  const [, name, rest] = /^(\/\S*)\s*([\s\S]*)$/.exec(text);
  if (inThread) {
    return { ok: false, words: `${name} does not work in threads. Type it in the channel.` };
  }
  const known = commands.map((one) => one.command);
  if (!known.includes(name)) {
    const list = known.join(", ") || "none";
    return { ok: false, words: `${name} is not a valid command. Commands here: ${list}.` };
  }
  return post("/ui/command", { as, channel: place.channel, command: name, text: rest });
}
