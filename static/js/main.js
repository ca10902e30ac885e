// Wires the page together. With a conversation there is a socket; on the start page only a form.

import { createComposer } from "./composer.js";
import { startConversation } from "./conversation.js";
import { $, localiseTimes } from "./dom.js";
import { startShell } from "./shell.js";

const id = $("#chat").dataset.conversationId ?? "";
startShell(id);
localiseTimes();
if (id) startConversation(id);
else {
  const composer = createComposer({ key: "new" });
  $("#starters").addEventListener("submit", (event) => {
    // The starters' own form is for pages without scripts; here the chosen model counts.
    event.preventDefault();
    composer.setText(event.submitter.value);
    $("#composer").requestSubmit();
  });
}
