// Wires the page together. With a conversation there is a socket; on the start page only a form.

import { startCitations } from "./citations.js";
import { chooseModel, remember } from "./commands.js";
import { Composer } from "./composer.js";
import { startComposerPanels } from "./composer_panels.js";
import { Conversation } from "./conversation.js";
import { $, localiseTimes } from "./dom.js";
import { startFoundWords } from "./found_words.js";
import { keepListPlace } from "./list_place.js";
import { startListed } from "./listed.js";
import { makePalette } from "./openers.js";
import { startProjects } from "./projects.js";
import { startShell } from "./shell.js";
import { openHelp, startShortcuts } from "./shortcuts.js";
import { StartPage } from "./start_page.js";
import { startTemporaryChat } from "./temporary_chat.js";

const { conversationId: id = "", temporary, user } = $("#chat").dataset;
startShell(id);
startCitations();
startFoundWords();
startTemporaryChat(temporary == null ? "" : id);
startListed();
startComposerPanels();
startProjects();
keepListPlace(user);
localiseTimes();
if (id) new Conversation(id);
else {
  const commands = {
    new: () => location.assign($("#new-chat").href),
    model: chooseModel,
    help: openHelp,
    remember,
  };
  startShortcuts({ onSearch: makePalette(commands) });
  new Composer({
    key: `new:${user}`, // who signs in next at this browser does not see it
    start: new StartPage().start,
    commands,
  });
}
