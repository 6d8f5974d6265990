/* Times as people read them, always in the reader's own time zone: the clock of a
   message, the divider between days, and Slack's date templates. */

const LOCALE = "en-GB";
const DAY_MS = 86_400_000;

function written(date, options) {
  return new Intl.DateTimeFormat(LOCALE, options).format(date);
}

const CLOCK = { hour: "2-digit", minute: "2-digit", hour12: false };
const SHORT = { day: "numeric", month: "short", year: "numeric" };
const MIDDLE = { day: "numeric", month: "long", year: "numeric" };
const LONG = { weekday: "long", ...MIDDLE };

export function fromTs(ts) {
  return new Date(Number.parseFloat(ts) * 1000);
}

export function clock(date) {
  return written(date, CLOCK);
}

export function clockWithSeconds(date) {
  return written(date, { ...CLOCK, second: "2-digit" });
}

/** A time written by the demo tools: seconds or ISO 8601. */
export function fromLog(at) {
  const date = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  return Number.isNaN(date.getTime()) ? null : date;
}

function midnight(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

function nearDay(date, now) {
  const days = Math.round((midnight(date) - midnight(now)) / DAY_MS);
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days] ?? null;
}

export function dayName(date, now = new Date()) {
  const near = nearDay(date, now);
  if (near) return near[0].toUpperCase() + near.slice(1);
  return written(date, { weekday: "long", day: "numeric", month: "long" });
}

function numeric(date) {
  const two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function ago(date, now) {
  const minutes = Math.round((now - date) / 60_000);
  const size = Math.abs(minutes);
  let words = `${Math.round(size / 1440)} d`;
  if (size < 1) return "now";
  if (size < 60) words = `${size} min`;
  else if (size < 1440) words = `${Math.round(size / 60)} h`;
  return minutes < 0 ? `in ${words}` : `${words} ago`;
}

const TOKENS = {
  date_num: numeric,
  date: (date) => written(date, MIDDLE),
  date_short: (date) => written(date, SHORT),
  date_long: (date) => written(date, LONG),
  date_pretty: (date, now) => nearDay(date, now) ?? written(date, MIDDLE),
  date_short_pretty: (date, now) => nearDay(date, now) ?? written(date, SHORT),
  date_long_pretty: (date, now) => nearDay(date, now) ?? written(date, LONG),
  day_divider_pretty: (date, now) => nearDay(date, now) ?? written(date, LONG),
  time: clock,
  time_secs: clockWithSeconds,
  ago,
};

/** Slack's `{date} at {time}` filled in; null when there is no such instant. */
export function slackDate(seconds, template, now = new Date()) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return null;
  return template.replace(/\{(\w+)\}/g, (whole, token) =>
    Object.hasOwn(TOKENS, token) ? TOKENS[token](date, now) : whole,
  );
}
