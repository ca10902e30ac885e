// The line above the messages: the title, the model, and where the conversation stands in the list.

import { $ } from "./dom.js";
import { gettext } from "./gettext.js";
import { post, refusal } from "./http.js";
import { showNotice } from "./notice.js";
import { refreshSidebar } from "./shell.js";

const LABELS = {
  pinned: { 1: gettext("Pin to the top"), "": gettext("Unpin") },
  archived: { 1: gettext("Archive"), "": gettext("Move back to the list") },
};

export class Topbar {
  /** `placeUrl`, `modelUrl`: of the conversation; `homeUrl`: where an archived one is left for. */
  constructor({ placeUrl, modelUrl, homeUrl }) {
    Object.assign(this, { placeUrl, modelUrl, homeUrl });
    this.title = $("#title");
    this.model = $("#model");
    this.chosen = this.model?.value;
    this.#listenToTitle();
    this.model?.addEventListener("change", () => this.#changeModel());
    document.addEventListener("click", ({ target }) => {
      const button = target.closest?.("[data-action=place]");
      if (button) this.#changePlace(button);
      if (target.closest?.("[data-action=rename]")) this.editTitle();
    });
  }

  #listenToTitle() {
    const reset = () => (this.title.value = this.title.defaultValue);
    $("#rename").addEventListener("submit", (event) => {
      event.preventDefault();
      this.title.blur();
    });
    this.title.addEventListener("change", () => {
      const title = this.title.value.trim();
      if (title) this.rename(title);
      else reset();
    });
    this.title.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      reset();
      this.title.blur();
    });
  }

  editTitle = () => this.title.select();

  /** Show a title; whether it is another one than before. */
  showTitle(title) {
    if (!title || title === this.title.defaultValue) return false;
    document.title = `${title} · Everlong`;
    $("#page-title").textContent = title;
    this.title.defaultValue = title;
    if (document.activeElement !== this.title) this.title.value = title;
    return true;
  }

  async rename(title) {
    const response = await post($("#rename").action, { title });
    if (!response?.ok) return showNotice(gettext("The title could not be changed. Try again."));
    this.showTitle(title);
    refreshSidebar();
  }

  /** Pin, unpin, archive, or move back. */
  async #changePlace(button) {
    const { name, value } = button.dataset;
    const response = await post(this.placeUrl, { [name]: value });
    if (!response?.ok) return showNotice(gettext("That did not work. Try again in a moment."));
    if (name === "archived" && value) return location.assign(this.homeUrl);
    button.dataset.value = value ? "" : "1";
    button.textContent = LABELS[name][button.dataset.value];
    refreshSidebar();
  }

  async #changeModel() {
    const response = await post(this.modelUrl, { model: this.model.value });
    if (response?.ok) {
      this.chosen = this.model.value;
      return;
    }
    this.model.value = this.chosen;
    showNotice(await refusal(response, gettext("The model could not be changed.")));
  }
}
