// Sends a message for each number through the page's own composer, one after the other, and keeps
// the HTML of each finished answer as the live stream left it.
async (numbers) => {
  const area = document.querySelector("#composer-text");
  const finished = () =>
    [...document.querySelectorAll('#transcript article[data-role="assistant"]')].filter(
      (node) => node.dataset.status === "complete",
    );
  async function until(condition, what) {
    const deadline = performance.now() + 60_000;
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`waited for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  }
  await until(() => finished().length === 1, "the first answer");
  for (const number of numbers) {
    const before = finished().length;
    await until(() => area.value === "", "an empty composer");
    area.value = `Text ${number}`;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    area.form.requestSubmit();
    await until(() => finished().length === before + 1, `answer ${number}`);
  }
  return finished().map((node) => node.outerHTML);
}
