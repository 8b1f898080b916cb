// Every state and kind of event, with its sign and its tone. A word that is not known here is shown as it is.

export const ARM_STATES = {
  candidate: { sign: "dot", tone: "good" },
  frozen: { sign: "frozen", tone: "warn" },
  "ruled out": { sign: "cross", tone: "" },
  removed: { sign: "minus", tone: "" },
  "switched off": { sign: "power", tone: "bad" },
};

export const MEMBER_STATES = {
  here: { sign: "check", tone: "good" },
  silent: { sign: "dashed", tone: "bad" },
  left: { sign: "out", tone: "" },
  superseded: { sign: "twice", tone: "bad" },
  "not asked": { sign: "ring", tone: "" },
};

export const CONNECTIONS = {
  live: { word: "Live", sign: "dot", tone: "good" },
  connecting: { word: "Connecting", sign: "dots", tone: "" },
  token: { word: "Token needed", sign: "key", tone: "warn" },
  disconnected: { word: "Not connected", sign: "broken", tone: "bad" },
  ended: { word: "Ended", sign: "square", tone: "" },
  error: { word: "Error", sign: "trouble", tone: "bad" },
};

export const EVENT_KINDS = {
  joined: { sign: "in", tone: "good" },
  left: { sign: "out", tone: "" },
  silent: { sign: "dashed", tone: "bad", important: true },
  back: { sign: "check", tone: "good", important: true },
  restarted: { sign: "again", tone: "warn" },
  "ruled out": { sign: "cross", tone: "" },
  frozen: { sign: "frozen", tone: "warn", important: true },
  unfrozen: { sign: "dot", tone: "good" },
  "kill switch": { sign: "power", tone: "bad", important: true },
  arms: { sign: "list", tone: "" },
  refused: { sign: "refused", tone: "warn" },
  quarantine: { sign: "shield", tone: "bad", important: true },
  trouble: { sign: "trouble", tone: "bad", important: true },
  settled: { sign: "check", tone: "good" },
  superseded: { sign: "twice", tone: "bad", important: true },
};

export function look(table, word) {
  return Object.hasOwn(table, word) ? table[word] : { sign: "ring", tone: "" };
}
