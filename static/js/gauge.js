// How full the context is: the ring, and the panel behind it.

import { $, make, tokens } from "./dom.js";

const PARTS = [
  ["system", "System"],
  ["summary", "Summary"],
  ["conversation", "Conversation"],
  ["reserve", "Reserved for reply"],
];
const MARGIN = 12; // px between the panel and the edge of the window
const money = (value) => `$${(value ?? 0).toFixed(value >= 1 ? 2 : 4)}`;

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
  panel.addEventListener("toggle", (event) => event.newState === "open" && place());
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
    const state = { neutral: "", amber: `Compacts at ${trigger} %`, red: "Nearly full" }[level];
    button.ariaLabel = `Context ${percent} % full. ${state}`.trim();
    button.title = state || "Context use";

    $("#gauge-headline").textContent = `${tokens(usage.used)} of ${tokens(usage.budget)} tokens${about}`;
    const bar = $("#gauge-bar");
    const legend = $("#gauge-legend");
    bar.replaceChildren();
    legend.replaceChildren();
    for (const [key, label] of PARTS) {
      const count = usage.breakdown?.[key] ?? 0;
      const piece = make("span", { className: `part-${key}` });
      piece.style.width = `${Math.min(100, (count / usage.budget) * 100)}%`;
      if (count) bar.append(piece);
      legend.append(make("dt", { className: `swatch part-${key}` }, label), make("dd", {}, tokens(count)));
    }
    const tick = make("i");
    tick.style.left = `${trigger}%`;
    bar.append(tick);
    bar.ariaLabel = `${percent} % used; compaction at ${trigger} %`;
    $("#gauge-hint").textContent = [
      level === "red" ? `Nearly full. Compacts at ${trigger} %.` : `Compacts at ${trigger} %.`,
      usage.estimated ? "≈ means estimated, until the model reports." : "",
      usage.note ?? "",
    ].join(" ").trim();

    const { input_tokens: input = 0, output_tokens: output = 0, cost = 0, compactions = 0, compaction_cost: extra = 0 } =
      usage.totals ?? {};
    $("#gauge-totals").replaceChildren(
      ...[
        ["Tokens in, all requests", tokens(input)],
        ["Tokens out", tokens(output)],
        ["Cost so far", money(cost)],
        [compactions === 1 ? "1 compaction" : `${compactions} compactions`, money(extra)],
      ].flatMap(([label, value]) => [make("dt", {}, label), make("dd", {}, value)]),
    );
    $("#compact-now").disabled = !compactable;
  }

  return {
    show(fresh) {
      usage = fresh;
      draw();
    },
    setCompactable(on) {
      compactable = on;
      $("#compact-now").disabled = !on;
    },
  };
}
