// The list of what waits to be sent: its buttons, and the editor of a prompt. It comes when something waits, and stands
// alone. Words come with the list.

const lists = new WeakMap(); // by the box that the list is in: another chat has another one

document.addEventListener("queue-changed", ({ target, detail }) => {
  if (!lists.has(target)) lists.set(target, new List(target));
  lists.get(target).show(detail);
});
document.addEventListener("queue-edit", ({ target }) => lists.get(target)?.editLast());

class List {
  #edit = null; // what is being edited: {id, area, words, pastes, text}
  #count = 0;

  constructor(box) {
    this.box = box;
    box.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-queue]");
      if (button) this.#press(button.dataset.queue, button.closest("[data-queued]"));
    });
  }

  show({ count, html, ...tools }) {
    this.tools = tools;
    const { box } = this;
    const open = this.#edit && this.#find(this.#edit.id);
    const held = box.contains(document.activeElement) && document.activeElement;
    const { queued } = held?.closest?.("[data-queued]")?.dataset ?? {};
    box.innerHTML = html;
    box.hidden = !count;
    this.words = box.firstElementChild?.dataset ?? this.words;
    addStyles(this.words.styles);
    if (open) this.#keepOpen(open);
    if (held) this.#focusAgain(held, queued);
    if (count !== this.#count)
      document.querySelector("#status").textContent = box.querySelector("h2")?.textContent ?? "";
    this.#count = count;
  }

  /** The queue has changed while one of it is edited. */
  #keepOpen(row) {
    const { id, area, words, text, saved } = this.#edit;
    const now = this.#find(id);
    if (now && wordsOf(now) === words) return now.replaceWith(row);
    const isStored = now && area.value === saved;
    if (area.value !== text && !isStored) this.#giveBack(area.value);
    this.#edit = null;
  }

  #find = (id) => this.box.querySelector(`[data-queued="${id}"]`);

  /** A change of what was sent meanwhile, or changed in another tab, goes into the message box. */
  #giveBack(text) {
    const area = document.querySelector("#composer-text");
    area.value = [area.value, text].filter(Boolean).join("\n\n");
    area.dispatchEvent(new Event("input", { bubbles: true })); // it keeps the draft
    this.tools.showNotice(this.words.changeKept, { info: true });
  }

  /** The list was drawn anew: the keyboard goes on where it was, or in the message box. */
  #focusAgain(held, id) {
    const same = `[data-queue="${held.dataset.queue}"]`;
    const next = held.isConnected
      ? held
      : (this.#find(id)?.querySelector(same) ?? document.querySelector("#composer-text"));
    if (matchMedia("(hover: hover)").matches) next.focus({ preventScroll: true });
  }

  #press(what, row) {
    const id = Number(row?.dataset.queued);
    if (what === "edit") this.#open(row);
    else if (what === "save") this.#save();
    else if (what === "cancel") this.#close();
    else if (what === "now") this.#send({ type: "queue.now", id });
    else if (what === "remove") this.#send({ type: "queue.remove", id });
    else this.#send({ type: "queue.resume" });
  }

  /** Whether it went out. */
  #send(frame) {
    const went = this.tools.send(frame);
    if (!went) this.tools.showNotice(this.words.notConnected);
    return went;
  }

  editLast() {
    const rows = [...this.box.querySelectorAll("[data-queued]")];
    if (rows.length) this.#open(rows.at(-1));
  }

  async #open(row) {
    if (this.#edit && this.#edit.area.value !== this.#edit.text) return this.#edit.area.focus(); // nothing typed is lost
    this.#close();
    const answer = await this.tools.request(row.dataset.url).catch(() => null);
    if (!answer?.ok || !row.isConnected) return;
    const text = await answer.text();
    const form = row.querySelector("template").content.cloneNode(true);
    const area = form.querySelector("textarea");
    area.value = text;
    const pasted = JSON.parse(answer.headers.get("X-Pasted") ?? "null");
    const pastes = this.tools.trackPastes(area, pasted);
    this.#edit = {
      id: Number(row.dataset.queued),
      area,
      words: wordsOf(row),
      pastes,
      text: area.value,
    };
    area.addEventListener("keydown", (event) => this.#key(event));
    row.classList.add("editing");
    row.append(form);
    area.focus();
    row.scrollIntoView({ block: "nearest" }); // with its buttons
  }

  #key(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.stopPropagation(); // there it would stop an answer
      this.#close();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#save();
    }
  }

  /** The editor stays until the change is seen in the list: it may be refused. */
  #save() {
    const { id, area, pastes, text } = this.#edit;
    if (area.value === text) return this.#close();
    const went = this.#send({ type: "queue.edit", id, text: area.value, pasted: pastes.parts() });
    if (went) this.#edit.saved = area.value;
  }

  #close() {
    if (!this.#edit) return;
    const row = this.#find(this.#edit.id);
    this.#edit = null;
    row?.querySelector(".queued-editor")?.remove();
    row?.classList.remove("editing");
    row?.querySelector('[data-queue="edit"]').focus();
  }
}

/** They stay in the page. */
function addStyles(href) {
  if (document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
}

const wordsOf = (row) => row.querySelector(".queued-words").textContent;
