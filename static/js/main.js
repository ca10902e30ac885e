// Wires the page together. With a conversation there is a socket; on the start page only a form.

import { startCitations } from "./citations.js";
import { chooseModel, remember } from "./commands.js";
import { Composer } from "./composer.js";
import { startComposerPanels } from "./composer_panels.js";
import { watchNetwork } from "./connection.js";
import { Conversation } from "./conversation.js";
import { $ } from "./dom.js";
import { startFoundWords } from "./found_words.js";
import { keepListPlace } from "./list_place.js";
import { startListed } from "./listed.js";
import { localiseTimes } from "./moments.js";
import { makePalette } from "./openers.js";
import { startProjects } from "./projects.js";
import { startShell } from "./shell.js";
import { openHelp, startHelp, startShortcuts } from "./shortcuts.js";
import { StartPage } from "./start_page.js";
import { startSwitching } from "./switching.js";
import { startTemporaryChat } from "./temporary_chat.js";

startShell();
startHelp();
startCitations();
startFoundWords();
startListed();
startProjects();
document.addEventListener("htmx:afterSwap", ({ target }) => localiseTimes(target));
startSwitching((signal, goTo, place) => {
  const { conversationId: id = "", temporary, user } = $("#chat").dataset;
  startTemporaryChat(temporary == null ? "" : id, signal);
  startComposerPanels(signal);
  localiseTimes();
  return id ? new Conversation(id, { signal, place }) : startFirstMessage(user, signal, goTo);
});
keepListPlace($("#chat").dataset.user); // after the socket was opened: it lays out the page

function startFirstMessage(user, signal, goTo) {
  const commands = {
    new: () => $("#new-chat").click(),
    model: chooseModel,
    help: openHelp,
    remember,
  };
  startShortcuts({ onSearch: makePalette(commands, signal), signal });
  watchNetwork(signal);
  new Composer({
    key: `new:${user}`, // who signs in next at this browser does not see it
    start: new StartPage({ signal, goTo }).start,
    commands,
  });
}
