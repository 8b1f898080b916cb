// The page: it joins the stream to the sections. Each section draws its own part of a frame and knows no other.

import { armsSection } from "./arms.js";
import { banditsSection } from "./bandits.js";
import { connectionView } from "./connection.js";
import { eventsSection } from "./events.js";
import { figuresSection, headerSection } from "./header.js";
import { Keys } from "./keys.js";
import { membersSection } from "./members.js";
import { messagesSection } from "./messages.js";
import { pairsSection } from "./pairs.js";
import { Stream } from "./stream.js";
import { keepToken, takeTokenFromAddress, token } from "./token.js";
import { trafficSection } from "./traffic.js";

const keys = new Keys();
// Traffic comes before arms: it gives the keys that arms show.
const sections = [
  headerSection(),
  figuresSection(),
  banditsSection(askForPlace),
  trafficSection(keys),
  armsSection(keys),
  pairsSection(),
  membersSection(),
  messagesSection(),
  eventsSection(),
];
const MOST_MEASURES = 100;
let drawn = 0;
let waiting = null; // a frame that came while nobody could see it

/** What the server says of one segment of a bandit, or of its largest one for null; or why it says nothing. */
async function askForPlace(bandit, segment) {
  const address = new URL("page/place", document.baseURI);
  address.search = new URLSearchParams(segment === null ? { bandit } : { bandit, segment });
  const held = token();
  try {
    const answer = await fetch(address, { headers: held ? { Authorization: `Bearer ${held}` } : {}, cache: "no-store" });
    const said = await answer.json();
    return answer.ok ? said : { problem: said.detail ?? said.title ?? `status ${answer.status}` };
  } catch {
    return { problem: "The server does not answer. It is asked again with the next numbers." };
  }
}

function draw(frame) {
  const isFirst = !document.body.classList.contains("has-frame");
  if (document.hidden && !isFirst) {
    waiting = frame;
    return;
  }
  waiting = null;
  const began = performance.now();
  document.body.classList.add("has-frame");
  for (const section of sections) section(frame);
  drawn += 1;
  if (drawn % MOST_MEASURES === 0) performance.clearMeasures("draw"); // a page may be open for weeks
  performance.measure("draw", { start: began, end: performance.now() });
  // Charts are drawn when their room is known: after the layout that follows, and before it is painted.
  if (isFirst) requestAnimationFrame(() => setTimeout(() => performance.mark("first-frame")));
}

const showStatus = connectionView((what, value) => {
  if (what === "reload") location.reload();
  if (what === "token") keepToken(value);
  if (what === "token") stream.restart();
  if (what === "retry") stream.tryNow();
});

const stream = new Stream({
  address: new URL("page/stream", document.baseURI).href,
  onFrame: draw,
  onStatus: showStatus,
  token,
  outside: {
    fetch: (...request) => fetch(...request),
    now: () => Date.now(),
    setTimeout: (...timer) => setTimeout(...timer),
    clearTimeout: (timer) => clearTimeout(timer),
  },
});

function comeBack() {
  if (waiting) draw(waiting);
  if (["disconnected", "error"].includes(document.body.dataset.connection)) stream.tryNow();
}

document.addEventListener("visibilitychange", () => document.hidden || comeBack());
window.addEventListener("online", comeBack);
window.addEventListener("pageshow", comeBack);
window.addEventListener("hashchange", () => takeTokenFromAddress() && stream.restart());
takeTokenFromAddress();
stream.tryNow();
