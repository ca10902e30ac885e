// The line above the messages: the title, the model, and where the conversation stands in the list.

import { $ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post, refusal } from "../base/http.js";
import { showNotice } from "../base/notice.js";
import { showModel } from "../composer/panels.js";
import { changeListed } from "../list/changes.js";
import { refreshSidebar } from "../list/sidebar.js";

export class Topbar {
  /** `id`, `modelUrl`: of the conversation. */
  constructor({ id, modelUrl, signal }) {
    Object.assign(this, { id, modelUrl });
    this.title = $("#title");
    this.model = $("#model");
    this.chosen = this.model?.value;
    this.#listenToTitle();
    this.model?.addEventListener("change", () => this.#changeModel());
    const press = ({ target }) => {
      const button = target.closest?.("[data-action=place]");
      if (button) this.#changePlace(button);
      if (target.closest?.("[data-action=rename]")) this.editTitle();
    };
    document.addEventListener("click", press, { signal });
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
    const isLeft = !this.title.isConnected; // for another chat
    if (isLeft || !title || title === this.title.defaultValue) return false;
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

  /** Pin, unpin, archive, move back, or delete. */
  async #changePlace({ dataset }) {
    const { name, value } = dataset;
    if (await changeListed([this.id], name, value)) dataset.value = value ? "" : "1";
  }

  async #changeModel() {
    const response = await post(this.modelUrl, { model: this.model.value });
    if (response?.ok) {
      this.chosen = this.model.value;
      return;
    }
    this.model.value = this.chosen;
    showModel();
    showNotice(await refusal(response, gettext("The model could not be changed.")));
  }
}
