/* What interactive elements hold, as plain values: text, the value of an option, a list
   of such values, a date, seconds. And what Slack's client says about a value before it
   sends a form. Pure functions, without the document. */

const TYPED = ["plain_text_input", "email_text_input", "url_text_input", "number_input"];
const ONE_OF = ["static_select", "radio_buttons"];
const MANY_OF = ["checkboxes", "multi_static_select"];
const PICKED = {
  datepicker: ["selected_date", "initial_date"],
  timepicker: ["selected_time", "initial_time"],
  datetimepicker: ["selected_date_time", "initial_date_time"],
};
// What a picker holds while the browser cannot read what stands in it.
export const UNREADABLE = "unreadable";
const UNREADABLE_WORDS = {
  datepicker: "Enter a date.",
  timepicker: "Enter a time.",
  datetimepicker: "Enter a date and a time.",
};

export const keyOf = (block, element) => `${block.block_id}/${element.action_id}`;

export function isTyped(element) {
  return TYPED.includes(element.type);
}

/** Elements that hold something; buttons and unknown ones do not. */
export function holds(element) {
  return isTyped(element) || ONE_OF.includes(element.type)
    || MANY_OF.includes(element.type) || Object.hasOwn(PICKED, element.type);
}

/** The value of an entry of `state.values`, or else what the element begins with. */
export function held(element, entry) {
  const has = (name) => entry !== undefined && Object.hasOwn(entry, name);
  if (isTyped(element)) return (has("value") ? entry.value : element.initial_value) ?? "";
  if (ONE_OF.includes(element.type)) {
    const one = has("selected_option") ? entry.selected_option : element.initial_option;
    return one?.value ?? null;
  }
  if (MANY_OF.includes(element.type)) {
    const many = has("selected_options") ? entry.selected_options : element.initial_options;
    return (many ?? []).map((option) => option.value);
  }
  const [field, initial] = PICKED[element.type];
  return (has(field) ? entry[field] : element[initial]) ?? null;
}

/** Whether a value may stand in this element: another kind may have taken its place. */
export function fits(element, value) {
  if (MANY_OF.includes(element.type)) return Array.isArray(value);
  if (element.type === "datetimepicker") return value === null || typeof value !== "object";
  return value === null || typeof value === "string";
}

function isEmpty(value) {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function isUrl(text) {
  if (!/^https?:\/\/[^/?#\s]/i.test(text)) return false;
  try {
    return Boolean(new URL(text).host);
  } catch {
    return false;
  }
}

function lengthComplaint(element, text) {
  const least = element.min_length ?? 0;
  const most = element.max_length ?? 3000;
  if (text.length < least) return `Enter at least ${least} characters.`;
  return text.length > most ? `Enter at most ${most} characters.` : null;
}

function numberComplaint(element, text) {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return "Enter a number.";
  if (text.includes(".") && !element.is_decimal_allowed) return "Enter a whole number.";
  const { min_value: least, max_value: most } = element;
  if (least !== undefined && Number(text) < Number(least)) return `Enter ${least} or more.`;
  if (most !== undefined && Number(text) > Number(most)) return `Enter ${most} or less.`;
  return null;
}

/** What stands under an input block whose value cannot be sent, or null. */
export function complaint(block, value) {
  const { element } = block;
  if (isEmpty(value)) {
    return block.optional ? null : "Please complete this required field.";
  }
  if (value === UNREADABLE && Object.hasOwn(PICKED, element.type)) {
    return UNREADABLE_WORDS[element.type];
  }
  if (element.type === "plain_text_input") return lengthComplaint(element, value);
  if (element.type === "number_input") return numberComplaint(element, value);
  if (element.type === "email_text_input" && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(value)) {
    return "Enter an email address.";
  }
  if (element.type === "url_text_input" && !isUrl(value)) {
    return "Enter a URL that starts with http:// or https://.";
  }
  return null;
}

const two = (number) => String(number).padStart(2, "0");

/** Unix seconds ↔ what a `datetime-local` box holds, in the reader's time zone. */
export function localMinute(seconds) {
  if (typeof seconds !== "number") return "";
  const date = new Date(seconds * 1000);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function fromLocalMinute(text) {
  const time = new Date(text).getTime();
  return Number.isNaN(time) ? null : Math.floor(time / 1000);
}
