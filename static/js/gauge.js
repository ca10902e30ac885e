// How full the context is: the ring, and the panel behind it.

import { $, announce, make, tokens } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

const PARTS = [
  ["system", gettext("System")],
  ["tools", gettext("Tools")],
  ["summary", gettext("Summary")],
  ["conversation", gettext("Conversation")],
  ["reserve", gettext("Reserved for reply")],
];
const MARGIN = 12; // px between the panel and the edge of the window
const money = (value) => `$${(value ?? 0).toFixed(value >= 1 ? 2 : 4)}`;

/** How automatic compaction stands, in words for the panel. */
function plan(usage, trigger) {
  if (usage.automatic === false) return gettext("Automatic compaction is off: the oldest messages will be left out when the window is full.");
  if (usage.held) return gettext("Since the revert, automatic compaction waits until the window itself is full.");
  return gettext("Compacts at {trigger} %.", { trigger });
}

export function createGauge({ onCompact }) {
  const button = $("#gauge");
  const panel = $("#gauge-panel");
  let usage = null;
  let compactable = true;

  function place() {
    const box = button.getBoundingClientRect();
    const room = innerWidth - panel.offsetWidth - MARGIN; // so that it does not leave on the left
    panel.style.right = `${Math.max(MARGIN, Math.min(room, innerWidth - box.right))}px`;
    panel.style.bottom = `${innerHeight - box.top + 8}px`;
  }
  const more = $("#gauge-more");
  panel.addEventListener("toggle", (event) => {
    if (event.newState !== "open") return;
    place();
    more.dispatchEvent(new Event("panel-opened"));
  });
  addEventListener("resize", place);
  $("#compact-now").addEventListener("click", () => {
    panel.hidePopover?.();
    onCompact();
  });

  function draw() {
    if (!usage) return;
    const percent = Math.round(usage.ratio * 100);
    const trigger = Math.round((usage.trigger ?? 0.8) * 100);
    const level = percent > 90 ? "red" : percent >= 70 ? "amber" : "neutral";
    const about = usage.estimated ? " (≈)" : "";
    button.dataset.level = level;
    $(".ring-value", button).setAttribute("stroke-dasharray", `${Math.min(100, percent)} 100`);
    $("#gauge-text").textContent = `${percent} %`;
    const waits = usage.automatic === false || usage.held;
    $("#compaction-off").hidden = usage.automatic !== false;
    const state = { neutral: "", amber: waits ? "" : gettext("Compacts at {trigger} %", { trigger }), red: gettext("Nearly full") }[level];
    button.ariaLabel = `${gettext("Context {percent} % full.", { percent })} ${state}`.trim();
    button.title = state || gettext("Context use");

    $("#gauge-headline").textContent = gettext("{used} of {budget} tokens", { used: tokens(usage.used), budget: tokens(usage.budget) }) + about;
    const bar = $("#gauge-bar");
    const legend = $("#gauge-legend");
    bar.replaceChildren();
    legend.replaceChildren();
    for (const [key, label] of PARTS) {
      if (!(key in (usage.breakdown ?? {}))) continue;
      const count = usage.breakdown?.[key] ?? 0;
      const piece = make("span", { className: `part-${key}` });
      piece.style.width = `${Math.min(100, (count / usage.budget) * 100)}%`;
      if (count) bar.append(piece);
      legend.append(make("dt", { className: `swatch part-${key}` }, label), make("dd", {}, tokens(count)));
    }
    const tick = make("i");
    tick.style.left = `${trigger}%`;
    if (!waits) bar.append(tick);
    bar.ariaLabel = waits ? gettext("{percent} % used", { percent })
      : gettext("{percent} % used; compaction at {trigger} %", { percent, trigger });
    $("#gauge-hint").textContent = [
      level === "red" ? gettext("Nearly full.") : "",
      plan(usage, trigger),
      usage.estimated ? gettext("≈ means estimated, until the model reports.") : "",
      usage.note ?? "",
    ].join(" ").trim();

    const { input_tokens: input = 0, output_tokens: output = 0, cost = 0, compactions = 0, compaction_cost: extra = 0 } =
      usage.totals ?? {};
    $("#gauge-totals").replaceChildren(
      ...[
        [gettext("Tokens in, all requests"), tokens(input)],
        [gettext("Tokens out"), tokens(output)],
        [gettext("Cost so far"), money(cost)],
        [ngettext("{count} compaction", "{count} compactions", compactions), money(extra)],
      ].flatMap(([label, value]) => [make("dt", {}, label), make("dd", {}, value)]),
    );
    $("#compact-now").disabled = !compactable;
  }

  return {
    /** From `context.usage`; `{automatic}` and `{held}` alone say how compaction stands now. */
    show(fresh) {
      usage = { ...usage, ...fresh };
      draw();
    },
    open() {
      if (!panel.matches(":popover-open")) panel.showPopover();
      announce($("#gauge-headline").textContent);
    },
    setCompactable(on) {
      compactable = on;
      $("#compact-now").disabled = !on;
    },
  };
}
