// The bearer token: taken out of the address, kept for this tab only, never shown.

const NAME = "cobandit-token";
let held = null; // if the browser keeps nothing

/** Take `#token=...` out of the address, so that nobody copies or sees it. Returns whether there was one. */
export function takeTokenFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  keepToken(given);
  return true;
}

export function token() {
  try {
    return sessionStorage.getItem(NAME) ?? held;
  } catch {
    return held;
  }
}

export function keepToken(value) {
  held = value;
  try {
    sessionStorage.setItem(NAME, value);
  } catch {
    // then it lasts until the page is left
  }
}
