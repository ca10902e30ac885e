// Storage that may be full or forbidden.

/** `area()` raises where it is forbidden. */
const guarded = (area) => ({
  get(key) {
    try {
      return area().getItem(key);
    } catch {
      return null;
    }
  },
  /** Keep a text; an empty one is forgotten. */
  set(key, value) {
    try {
      if (value) area().setItem(key, value);
      else area().removeItem(key);
    } catch {
      // A draft that cannot be kept is no reason to stop typing.
    }
  },
});

export const storage = guarded(() => localStorage);
export const tabStorage = guarded(() => sessionStorage);
