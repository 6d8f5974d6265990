/* The bar at the top: who acts, and the bot with its switch. */

import { el, fill } from "./dom.js";
import { unreadNotifications } from "./reading.js";
import { post } from "./server.js";

const byId = (id) => document.getElementById(id);

export class Top {
  constructor({ turnTo, complain }) {
    this.turnTo = turnTo;
    this.complain = complain;
    this.switching = false;
    byId("bot-switch").addEventListener("click", () => this.switchBot());
  }

  draw({ state, names, person, reading }) {
    this.state = state;
    this.drawPeople(names, person, (id) => unreadNotifications(state, reading, id).length > 0);
    this.drawBot();
    document.title = `${names.short(person)} · Countersign playground`;
  }

  drawPeople(names, person, told) {
    const holder = byId("people");
    const people = names.people();
    const drawn = [...holder.querySelectorAll("input")].map((input) => input.value).join();
    if (drawn !== people.map((user) => user.id).join()) {
      fill(holder, ...people.map((user) => el("label", {},
        el("input", {
          type: "radio", name: "as", value: user.id, change: () => this.turnTo(user.id),
        }),
        el("span", {}, names.short(user.id)))));
    }
    for (const input of holder.querySelectorAll("input")) {
      input.checked = input.value === person;
      input.parentNode.classList.toggle("told-person", told(input.value));
    }
    const anybody = people.some((user) => told(user.id));
    byId("show-rail").classList.toggle("told-person", anybody);
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

  async switchBot() {
    if (this.switching || !this.state) return;
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
}
