// "Go to": a message by its number, or the first one on or after a day.

import { closeOutside } from "../base/dialogs.js";
import { $ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { formatDay } from "../base/moments.js";
import { showNotice } from "../base/notice.js";

/** A number, or midnight of a day by the reader's clock as a Date; null for anything else. */
function parseTarget(words) {
  const number = /^#?([1-9]\d{0,8})$/.exec(words)?.[1];
  if (number) return Number(number);
  const [, year, month, day] = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(words) ?? [];
  const date = new Date(year, month - 1, day);
  const exists = date.getMonth() === month - 1 && date.getDate() === Number(day);
  return exists ? date : null;
}

export class GoTo {
  /** `url`: of the conversation's items; `go(number)` shows a message, and tells whether it could. */
  constructor({ url, go }) {
    Object.assign(this, { url, go });
    this.dialog = $("#go-to");
    this.field = $("input", this.dialog);
    this.problem = $(".field-error", this.dialog);
    closeOutside(this.dialog);
    $("form", this.dialog).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    $("[data-action=cancel]", this.dialog).addEventListener("click", () => this.dialog.close());
  }

  open() {
    this.field.value = "";
    this.#explain("");
    this.dialog.showModal();
  }

  /** `/goto 120`. False: the text stays in the message box; `done()` when the message is shown. */
  command(words, done) {
    if (words) this.#run(words, done);
    else this.open();
    return !words;
  }

  async #run(words, done) {
    const { number, problem } = await this.#find(words);
    if (problem) showNotice(problem);
    else if (await this.go(number)) done();
  }

  async #submit() {
    const { number, problem } = await this.#find(this.field.value.trim());
    this.#explain(problem);
    if (problem) return this.field.select();
    this.dialog.close(); // what is wrong with a number is said, and can be mended, below the messages
    await this.go(number);
  }

  #explain(problem) {
    this.problem.textContent = problem;
    this.field.ariaInvalid = String(Boolean(problem));
  }

  /** {number} of the message that is meant, or {problem}: why there is none, in words. */
  async #find(words) {
    const target = parseTarget(words);
    if (typeof target === "number") return { number: target, problem: "" };
    if (target) return this.#findSince(target);
    const example = "2026-10-12";
    return {
      problem: gettext("“{words}” is neither a message number nor a date such as {example}.", {
        words,
        example,
      }),
    };
  }

  async #findSince(date) {
    const seconds = Math.max(0, date.getTime() / 1000);
    const response = await request(`${this.url}since/${seconds}/`).catch(() => null);
    if (response?.ok) return { number: Number(await response.text()), problem: "" };
    const day = formatDay(date);
    return {
      problem:
        response?.status === 404
          ? gettext("Nothing was written here on {day} or later.", { day })
          : gettext("That day could not be looked up. Try again in a moment."),
    };
  }
}
