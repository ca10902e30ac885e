// Loaded blocking in the head: the chosen theme, and whether the sidebar is closed, stand before the first paint.
// The account has the theme, and the server has written it here. The storage has a copy for pages of nobody and
// for the administration; "auto" there is the system's.
(() => {
  const { dataset } = document.documentElement;
  const isTheme = (theme) => theme === "light" || theme === "dark";
  try {
    if (localStorage.getItem("sidebar")) dataset.sidebar = "closed";
    const kept = localStorage.getItem("theme");
    if (!dataset.user) {
      if (isTheme(kept)) dataset.theme = kept;
    } else if (isTheme(kept) && !dataset.theme && !localStorage.getItem("theme-moved")) {
      dataset.theme = dataset.themeToMove = kept; // only this browser has it yet: theme_move.js
    } else {
      localStorage.setItem("theme-moved", "1");
      localStorage.setItem("theme", dataset.theme ?? "auto");
    }
  } catch {
    // Storage can be forbidden; what the server has written holds.
  }
})();
