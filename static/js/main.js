// Wires the page together. With a conversation there is a socket; on the start page only a form.

import { startDialogs } from "./base/dialogs.js";
import { $ } from "./base/dom.js";
import { startHtmx } from "./base/htmx.js";
import { localiseTimes } from "./base/moments.js";
import { chooseModel, remember } from "./composer/commands.js";
import { Composer } from "./composer/composer.js";
import { startComposerPanels } from "./composer/panels.js";
import { watchNetwork } from "./conversation/connection.js";
import { Conversation } from "./conversation/conversation.js";
import { offerAgain } from "./list/changes.js";
import { startItemMenu } from "./list/item_menu.js";
import { startProjectFolds } from "./list/project_folds.js";
import { restoreList } from "./list/restoring.js";
import { startSidebar } from "./list/sidebar.js";
import { startCitations } from "./navigation/citations.js";
import { startFoundWords } from "./navigation/found_words.js";
import { Palette } from "./navigation/palette.js";
import { startMenus } from "./page/menus.js";
import { openHelp, startHelp, startShortcuts } from "./page/shortcuts.js";
import { StartPage } from "./page/start_page.js";
import { startSwitching } from "./page/switching.js";
import { startTemporaryChat } from "./page/temporary_chat.js";
import { moveTheme } from "./page/theme_move.js";

startHtmx();
moveTheme();
startSidebar();
startMenus();
startDialogs();
startHelp();
startCitations();
startFoundWords();
startItemMenu();
offerAgain();
startProjectFolds();
document.addEventListener("htmx:afterSwap", ({ target }) => localiseTimes(target));
startSwitching((signal, goTo, place) => {
  const { conversationId: id = "", temporary, user } = $("#chat").dataset;
  startTemporaryChat(temporary == null ? "" : id, signal);
  startComposerPanels(signal);
  localiseTimes();
  return id ? new Conversation(id, { signal, place }) : startFirstMessage(user, signal, goTo);
});
restoreList($("#chat").dataset.user); // after the socket was opened: it lays out the page

function startFirstMessage(user, signal, goTo) {
  const commands = {
    new: () => $("#new-chat").click(),
    model: chooseModel,
    help: openHelp,
    remember,
  };
  const palette = new Palette(commands, signal);
  startShortcuts({ onSearch: () => palette.open(), signal });
  watchNetwork(signal);
  new Composer({
    key: `new:${user}`, // who signs in next at this browser does not see it
    start: new StartPage({ signal, goTo }).start,
    commands,
  });
}
