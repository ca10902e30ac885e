// Which part of a long conversation is on the page: at most MOST messages around where the reader is.

import { $, $$, localiseTimes, request } from "./dom.js";
import { gettext } from "./gettext.js";

const MOST = 150; // messages in the document
const MARGIN = "600px"; // from the edge at which more is loaded

/**
 * `url`: of the conversation's items. `onChange()` after the window moved: times, live answer, buttons.
 * The window ends at the newest message unless there is a #later.
 */
export function createPaging({ log, scroller, url, onChange }) {
  const articles = () => $$("article", log);
  const atTail = () => !$("#later");
  let queue = Promise.resolve(); // of the requests that may change the window
  let waiting = 0;

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) more(target);
  }, { root: scroller, rootMargin: MARGIN });

  /** Watch the ends anew. An observer reports at once, so what is still near loads on. */
  function watch() {
    near.disconnect();
    for (const end of $$("#earlier, #later", log)) near.observe(end);
  }
  log.addEventListener("click", (event) => {
    if (event.target.matches("#earlier, #later")) more(event.target);
  });

  /** Do something above or below the reader without moving what is being read. */
  function keepPlace(work) {
    const top = scroller.getBoundingClientRect().top;
    const anchor = articles().find((node) => node.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top;
    work();
    if (anchor?.isConnected) scroller.scrollTop += anchor.getBoundingClientRect().top - before;
  }

  async function load(query) {
    const response = await request(`${url}${query}`);
    if (!response.ok) {
      const error = new Error((await response.text()).slice(0, 200));
      throw Object.assign(error, { status: response.status, messageId: response.headers.get("X-Message-Id") });
    }
    const template = document.createElement("template");
    template.innerHTML = await response.text();
    localiseTimes(template.content);
    return template.content;
  }

  /** One at a time: a newer wish waits for those before it. */
  function exclusive(work) {
    waiting += 1;
    const result = queue.then(work).finally(() => (waiting -= 1));
    queue = result.catch(() => {});
    return result;
  }

  async function more(end) {
    if (waiting) return;
    const earlier = end.id === "earlier";
    const focused = end === document.activeElement;
    end.disabled = true;
    try {
      await exclusive(async () => {
        const items = await load(new URL(end.dataset.url, location).search);
        if (!end.isConnected) return;
        // What leads the other way is here already.
        items.querySelector(earlier ? "#later" : "#earlier")?.remove();
        keepPlace(() => {
          end.replaceWith(items);
          trim(earlier);
        });
      });
      onChange();
      watch();
      if (focused) ($(`#${end.id}`) ?? articles().at(earlier ? 0 : -1)).focus();
    } catch {
      end.disabled = false;
      end.textContent = gettext("Could not load these messages. Try again");
    }
  }

  /** Forget what is farthest from where the window grew. */
  function trim(fromEnd) {
    const all = articles();
    if (all.length <= MOST) return;
    const gone = fromEnd ? all.slice(MOST) : all.slice(0, all.length - MOST);
    const edge = fromEnd ? all[MOST - 1] : all[all.length - MOST];
    // Dividers belong to the message before them.
    if (fromEnd) {
      while (gone[0].isConnected) log.lastElementChild.remove();
      log.append(sentinel("later", `?after=${edge.dataset.position}`, gettext("Show later messages")));
    } else {
      while (log.firstElementChild !== edge) log.firstElementChild.remove();
      log.prepend(sentinel("earlier", `?before=${edge.dataset.position}`, gettext("Show earlier messages")));
    }
  }

  function sentinel(id, query, label) {
    const button = Object.assign(document.createElement("button"), {
      id, type: "button", className: "button small ghost", textContent: label,
    });
    button.dataset.url = url + query;
    return button;
  }

  /** Replace the window. */
  async function show(query) {
    await exclusive(async () => log.replaceChildren(await load(query)));
    onChange();
    watch();
  }

  watch();
  return {
    atTail,
    watch,
    keepPlace,
    load,
    exclusive,
    newest: () => show(""),
    around: (number) => show(`?around=${number}`),
    /** A new message came below: forget the oldest, or the newest where the oldest are being read. */
    trimStart() {
      const edge = articles().at(-MOST);
      const reading = edge && edge.getBoundingClientRect().top > scroller.getBoundingClientRect().top;
      if (articles().length > MOST && !$(".edit-form", log)) keepPlace(() => trim(reading));
      watch();
    },
  };
}
