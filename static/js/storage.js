// Local storage that may be full or forbidden.

export const storage = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  /** Keep a text; an empty one is forgotten. */
  set(key, value) {
    try {
      if (value) localStorage.setItem(key, value);
      else localStorage.removeItem(key);
    } catch {
      // A draft that cannot be kept is no reason to stop typing.
    }
  },
};
