// What another app shared goes below what was typed here, before the chat's script takes the message box over. It
// comes with the page of what is shared, and stands alone.

(() => {
  const box = document.getElementById("composer-text");
  const key = `draft:new:${document.documentElement.dataset.user}`; // as composer/draft.js keeps it
  try {
    const kept = localStorage.getItem(key);
    if (kept) box.value = `${kept}\n\n${box.value}`;
    localStorage.setItem(key, box.value);
    localStorage.removeItem(key.replace("draft", "pasted"));
    history.replaceState(null, "", box.dataset.shared); // a reload does not share it again
  } catch {
    // Storage can be forbidden; then the address keeps what was shared.
  }
})();
