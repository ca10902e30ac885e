// Commands that work with and without a conversation.

import { $, shownId } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post } from "../base/http.js";
import { showNotice } from "../base/notice.js";

const LONGEST_ANSWER = 700; // characters

/** `/model opus`: the one whose name begins or goes on so; without a word the list opens. */
export function chooseModel(words) {
  const model = $("#model");
  if (!words) {
    $("#model-panel")?.showPopover();
    return true;
  }
  const found = [...(model?.options ?? [])].find(
    (option) =>
      !option.hidden &&
      `${option.value} ${option.text}`.toLowerCase().includes(words.toLowerCase()),
  );
  if (!found) {
    showNotice(
      gettext("No model is called “{words}”. /model without a name shows them all.", { words }),
    );
    return false;
  }
  model.value = found.value;
  model.dispatchEvent(new Event("change"));
  return true;
}

/** False: the text stays in the message box; `done()` when the server has it. */
export function remember(text, done) {
  store(text, done);
  return false;
}

async function store(text, done) {
  const response = await post($("#settings-link").dataset.memoriesUrl, {
    text,
    conversation: shownId(),
  });
  if (!response)
    return showNotice(gettext("The fact could not be saved. Your text is kept; try again."));
  showNotice((await response.text()).slice(0, LONGEST_ANSWER), { info: response.ok });
  if (response.ok) done();
}
