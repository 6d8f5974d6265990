/* Slack's mrkdwn, the subset that the playground shows: bold, italic, strike, code,
   preformatted, quotes, links, mentions, dates, a few emoji, entities. `parse` is
   pure and gives plain objects; `render` makes DOM nodes of them. The text is
   written by tools and people, so whatever is not understood stays literal. */

import { slackDate } from "./dates.js";
import { el, outside, safeUrl } from "./dom.js";

const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", eyes: "👀",
  hourglass: "⌛", no_entry: "⛔", rocket: "🚀", tada: "🎉", wave: "👋", lock: "🔒",
  "+1": "👍", "-1": "👎", thumbsup: "👍", bell: "🔔", robot_face: "🤖", smile: "😄",
};
const STYLES = { "*": "bold", _: "italic", "~": "strike" };
// Bounded, so that a line of half addresses cannot be made to take quadratic time.
const ADDRESS =
  /https?:\/\/(?:(?!&[lg]t;)[^\s<>|`"]){0,2000}(?!&[lg]t;)[^\s<>|`".,;:!?)\]'*_~]/y;
const TAGS = { bold: "strong", italic: "em", strike: "s" };

export function emoji(name) {
  return Object.hasOwn(EMOJI, name) ? EMOJI[name] : null;
}

function decoded(text) {
  // One pass, so that "&amp;lt;" becomes "&lt;" and not "<".
  const signs = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };
  return text.replace(/&(?:amp|lt|gt);/g, (entity) => signs[entity]);
}

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function isWord(character) {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}

function date(body, label) {
  const [, seconds, template = "", address] = body.split("^");
  const fallback = decoded(label ?? "");
  const known = /^\d{1,12}$/.test(seconds) && template !== "";
  const text = (known && slackDate(seconds, decoded(template))) || fallback;
  return { type: "date", text, url: address ? safeUrl(decoded(address)) : null };
}

/** What stands between < and >, or null when it is nothing that we know. */
function control(inner) {
  const bar = inner.indexOf("|");
  const body = bar < 0 ? inner : inner.slice(0, bar);
  const label = bar < 0 ? null : inner.slice(bar + 1);
  if (/^@[A-Z0-9]+$/.test(body)) return { type: "user", id: body.slice(1) };
  if (/^#[A-Z0-9]+$/.test(body)) return { type: "channel", id: body.slice(1) };
  if (/^!subteam\^[A-Z0-9]+$/.test(body)) return { type: "group", id: body.slice(9) };
  if (/^!(here|channel|everyone)$/.test(body)) {
    return { type: "broadcast", range: body.slice(1) };
  }
  if (body.startsWith("!date^")) return date(body, label);
  const url = safeUrl(decoded(body));
  return url && { type: "link", url, label: decoded(label || body) };
}

/** Where the style that opens at `at` closes, or -1. */
function closing(line, at) {
  const marker = line[at];
  if (line[at + 1] === undefined || /\s/.test(line[at + 1])) return -1;
  for (let end = at + 1; end < line.length; end += 1) {
    if (line[end] !== marker || end === at + 1) continue;
    if (!/\s/.test(line[end - 1]) && !isWord(line[end + 1])) return end;
  }
  return -1;
}

class LineParser {
  constructor(line, verbatim, open) {
    this.line = line;
    this.verbatim = verbatim;
    this.open = open;
    // A marker that found no end once finds none further right either:
    // remembering it keeps hostile lines linear.
    this.unclosed = new Set();
    this.nodes = [];
    this.literal = "";
  }

  flush() {
    if (this.literal) this.nodes.push({ type: "text", text: decoded(this.literal) });
    this.literal = "";
  }

  parse() {
    let at = 0;
    while (at < this.line.length) {
      const found = this.special(at);
      if (found) {
        this.flush();
        this.nodes.push(found.node);
        at = found.end;
      } else {
        this.literal += this.line[at];
        at += 1;
      }
    }
    this.flush();
    return this.nodes;
  }

  special(at) {
    const character = this.line[at];
    if (character === "<") return this.angle(at);
    if (character === "`") return this.code(at);
    if (character === ":") return this.emoji(at);
    if (character === "h") return this.address(at);
    return Object.hasOwn(STYLES, character) ? this.styled(at, character) : null;
  }

  angle(at) {
    const match = matchAt(/<([^<>]+)>/y, this.line, at);
    const node = match && control(match[1]);
    return node && { node, end: at + match[0].length };
  }

  code(at) {
    const match = matchAt(/`([^`]+)`/y, this.line, at);
    if (!match) return null;
    return { node: { type: "code", text: decoded(match[1]) }, end: at + match[0].length };
  }

  emoji(at) {
    const match = matchAt(/:([a-z0-9_+-]{1,40}):/y, this.line, at);
    const sign = match && emoji(match[1]);
    if (!sign) return null;
    return { node: { type: "emoji", sign, name: match[1] }, end: at + match[0].length };
  }

  address(at) {
    if (this.verbatim || isWord(this.line[at - 1])) return null;
    const match = matchAt(ADDRESS, this.line, at);
    const url = match && safeUrl(decoded(match[0]));
    if (!url) return null;
    const label = decoded(match[0]);
    return { node: { type: "link", url, label }, end: at + match[0].length };
  }

  styled(at, marker) {
    if (this.open.includes(marker) || this.unclosed.has(marker)) return null;
    if (isWord(this.line[at - 1])) return null;
    const end = closing(this.line, at);
    if (end < 0) {
      if (!/\s/.test(this.line[at + 1] ?? " ")) this.unclosed.add(marker);
      return null;
    }
    const inner = this.line.slice(at + 1, end);
    const children = new LineParser(inner, this.verbatim, this.open + marker).parse();
    return { node: { type: STYLES[marker], children }, end: end + 1 };
  }
}

function paragraphs(text, verbatim) {
  const blocks = [];
  for (const line of text.split("\n")) {
    const quoted = /^(?:&gt;|>) ?/.exec(line);
    const type = quoted ? "quote" : "lines";
    const bare = quoted ? line.slice(quoted[0].length) : line;
    const nodes = new LineParser(bare, verbatim, "").parse();
    const last = blocks.at(-1);
    if (last?.type === type) last.lines.push(nodes);
    else blocks.push({ type, lines: [nodes] });
  }
  return blocks;
}

/** mrkdwn → blocks: {type: "lines"|"quote", lines} or {type: "pre", text}. */
export function parse(text, { verbatim = false } = {}) {
  const blocks = [];
  const pieces = text.split(/```([\s\S]+?)```/);
  pieces.forEach((piece, index) => {
    if (index % 2) {
      blocks.push({ type: "pre", text: decoded(piece.replace(/^\n|\n$/g, "")) });
      return;
    }
    const before = index > 0 ? piece.replace(/^\n/, "") : piece;
    const around = index < pieces.length - 1 ? before.replace(/\n$/, "") : before;
    if (around !== "") blocks.push(...paragraphs(around, verbatim));
  });
  return blocks;
}

function words(node, names) {
  switch (node.type) {
    case "user": return `@${names.short(node.id)}`;
    case "channel": return names.channel(node.id);
    case "group": return `@${names.group(node.id)}`;
    case "broadcast": return `@${node.range}`;
    case "link": return node.label;
    case "emoji": return node.sign;
    default: return node.children
      ? node.children.map((child) => words(child, names)).join("")
      : node.text;
  }
}

function inline(node, names) {
  switch (node.type) {
    case "text": return document.createTextNode(node.text);
    case "code": return el("code", {}, node.text);
    case "link": return outside(node.url, node.label);
    case "date": return node.url ? outside(node.url, node.text) : el("time", {}, node.text);
    case "emoji": return el("span", { role: "img", "aria-label": node.name }, node.sign);
    case "bold": case "italic": case "strike":
      return el(TAGS[node.type], {}, ...node.children.map((child) => inline(child, names)));
    default: return mention(node, names);
  }
}

/** A person, group, channel or everybody, marked when it means the reader. */
export function mention(node, names) {
  const group = node.type === "group" ? names.groups.get(node.id) : null;
  const me = node.id === names.reader || group?.users?.includes(names.reader);
  const kind = me || node.type === "broadcast" ? "mention me" : "mention";
  return el("span", { class: kind }, words(node, names));
}

function lines(block, names) {
  return block.lines.flatMap((nodes, index) => {
    const made = nodes.map((node) => inline(node, names));
    return index ? [el("br"), ...made] : made;
  });
}

/** mrkdwn → nodes to append. */
export function render(text, names, options) {
  return parse(text, options).map((block) => {
    if (block.type === "pre") return el("pre", {}, block.text);
    const tag = block.type === "quote" ? "blockquote" : "p";
    return el(tag, {}, ...lines(block, names));
  });
}

/** mrkdwn → the words alone, as a phone shows them. */
export function plain(text, names) {
  return parse(text)
    .map((block) => block.text ?? block.lines
      .map((nodes) => nodes.map((node) => words(node, names)).join(""))
      .join("\n"))
    .join("\n");
}
