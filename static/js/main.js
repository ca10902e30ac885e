// Wires the page together. With a conversation there is a socket; on the start page only a form.

import { chooseModel, remember } from "./commands.js";
import { createComposer } from "./composer.js";
import { startConversation } from "./conversation.js";
import { $, localiseTimes } from "./dom.js";
import { startShell } from "./shell.js";
import { openHelp, startShortcuts } from "./shortcuts.js";
import { createStart } from "./start.js";
import { startTemporary } from "./temporary.js";

const { conversationId: id = "", deleteUrl, temporary, user } = $("#chat").dataset;
startShell(id);
startTemporary(temporary == null ? "" : deleteUrl);
localiseTimes();
if (id) startConversation(id);
else {
  startShortcuts();
  const start = createStart();
  createComposer({
    key: `new:${user}`, // who signs in next at this browser does not see it
    start: (pasted) => start("", pasted),
    commands: { new: () => location.assign($("#new-chat").href), model: chooseModel, help: openHelp, remember },
  });
  $("#starters").addEventListener("submit", (event) => {
    // Its own form is for pages without scripts; here the chosen model counts, and the draft stays.
    event.preventDefault();
    start(event.submitter.value);
  });
}
