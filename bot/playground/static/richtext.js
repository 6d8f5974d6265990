/* rich_text blocks as DOM nodes: sections, lists, quotes, preformatted text and
   every element that may stand in them. A text element is literal, whatever it
   looks like: only the element types make links and mentions. */

import { fromTs, slackDate } from "./dates.js";
import { el, outside, safeUrl } from "./dom.js";
import { emoji, mention } from "./mrkdwn.js";

const STYLE_TAGS = { bold: "strong", italic: "em", strike: "s", underline: "u", code: "code" };
const LIST_INDENT_MAX = 8;

export function unknown(type, what = "block") {
  const words = `A ${what} of type “${type}”. This page does not show it.`;
  return el(what === "block" ? "p" : "span", { class: "unknown" }, words);
}

function styled(node, style = {}) {
  return Object.entries(STYLE_TAGS).reduce(
    (inner, [name, tag]) => (style[name] ? el(tag, {}, inner) : inner),
    node,
  );
}

function emojiElement(element) {
  const sign = emoji(element.name);
  if (!sign) return document.createTextNode(`:${element.name}:`);
  return el("span", { role: "img", "aria-label": element.name }, sign);
}

function dateElement(element) {
  const text = slackDate(element.timestamp, element.format ?? "") ?? element.fallback;
  if (element.url && safeUrl(element.url)) return outside(element.url, text);
  const moment = fromTs(element.timestamp);
  const machine = Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
  return el("time", { datetime: machine }, text ?? "");
}

const ELEMENTS = {
  text: (element) => document.createTextNode(element.text ?? ""),
  link: (element) => outside(element.url, element.text),
  user: (element, names) => mention({ type: "user", id: element.user_id }, names),
  usergroup: (element, names) =>
    mention({ type: "group", id: element.usergroup_id }, names),
  channel: (element, names) => mention({ type: "channel", id: element.channel_id }, names),
  broadcast: (element, names) =>
    mention({ type: "broadcast", range: element.range }, names),
  date: dateElement,
  emoji: emojiElement,
  color: (element) => el("code", {}, element.value ?? ""),
};

function inlines(elements, names) {
  return (elements ?? []).map((element) => {
    const make = Object.hasOwn(ELEMENTS, element.type) && ELEMENTS[element.type];
    if (!make) return unknown(element.type, "part");
    return styled(make(element, names), element.style);
  });
}

function list(element, names) {
  const depth = Math.min(Number(element.indent) || 0, LIST_INDENT_MAX);
  const ordered = element.style === "ordered";
  const start = ordered && element.offset ? Number(element.offset) + 1 : undefined;
  const items = (element.elements ?? []).map((item) =>
    el("li", {}, ...inlines(item.elements, names)),
  );
  return el(ordered ? "ol" : "ul", { class: `indent-${depth}`, start }, ...items);
}

const PARTS = {
  rich_text_section: (part, names) => el("p", {}, ...inlines(part.elements, names)),
  rich_text_quote: (part, names) => el("blockquote", {}, ...inlines(part.elements, names)),
  rich_text_preformatted: (part, names) => el("pre", {}, ...inlines(part.elements, names)),
  rich_text_list: list,
};

export function richText(block, names) {
  const parts = (block.elements ?? []).map((part) => {
    const make = Object.hasOwn(PARTS, part.type) && PARTS[part.type];
    return make ? make(part, names) : unknown(part.type);
  });
  return el("div", { class: "rich" }, ...parts);
}
