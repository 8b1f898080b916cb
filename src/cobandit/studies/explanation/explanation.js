// Shows the moments of a drawing one after the other. The drawing is complete without this; here is only motion.
// A position is a moment's number: 0 is before anything has happened. Between two moments the line "now" travels.

const moments = JSON.parse(document.getElementById("moments").textContent);
const last = moments.length - 1;
const find = (id) => document.getElementById(id);
const svg = find("timelines");
const scroller = svg.parentElement;
const still = matchMedia("(prefers-reduced-motion: reduce)");

const marks = [...svg.querySelectorAll(".moment")];
const rows = [...document.querySelectorAll("#events tbody tr")];
const flights = [...svg.querySelectorAll(".flight")].map((group) => {
  const [x0, y0, x1, y1] = ["x0", "y0", "x1", "y1"].map((name) => Number(group.dataset[name]));
  const packet = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  packet.setAttribute("class", "packet");
  packet.setAttribute("r", "6");
  group.append(packet);
  return { group, packet, path: group.querySelector(".path"), x0, y0, x1, y1 };
});

let position = last;
let timer = null; // what is due when the present moment has been looked at
let frame = null; // what draws the way to the next one

function speed() {
  return Number(find("speed").value);
}

function drawTo(x) {
  find("past-end").setAttribute("width", Math.max(0, x));
  find("now").setAttribute("x1", x);
  find("now").setAttribute("x2", x);
  for (const { group, packet, path, x0, y0, x1, y1 } of flights) {
    const part = Math.max(0, Math.min(1, (x - x0) / (x1 - x0)));
    const isFlying = x > x0 && part < 1;
    group.classList.toggle("ahead", x < x0 || (x === x0 && part === 0 && !isDeparted(x0)));
    group.classList.toggle("flying", part < 1);
    const [px, py] = [x0 + part * (x1 - x0), y0 + part * (y1 - y0)];
    path.setAttribute("x2", px);
    path.setAttribute("y2", py);
    packet.setAttribute("cx", px);
    packet.setAttribute("cy", py);
    packet.style.display = isFlying ? "" : "none";
  }
}

function isDeparted(x) {
  return moments[position].x >= x;
}

function show(to, { follow = true } = {}) {
  position = to;
  const moment = moments[to];
  const isEnd = to === last;
  drawTo(isEnd ? Number(svg.getAttribute("width")) : moment.x);
  for (const [number, mark] of marks.entries()) {
    mark.classList.toggle("ahead", number + 1 > to);
    mark.classList.toggle("present", number + 1 === to && !isEnd);
  }
  for (const row of rows) row.classList.toggle("present", Number(row.dataset.moment) === to && !isEnd);
  find("caption").textContent = moment.caption;
  find("rule").textContent = moment.rule;
  moment.sides.forEach((side, number) => {
    const gauge = document.querySelector(`.gauge[data-side="${number}"]`);
    gauge.querySelector(".keeps").innerHTML = side.keeps; // escaped where it was written
    gauge.querySelector(".fill").style.width = `${side.fill}%`;
    const mark = gauge.querySelector(".mark");
    mark.textContent = side.asked;
    mark.classList.toggle("good", side.demanded);
  });
  find("scrub").value = to;
  const slot = moment.slot === null ? "the beginning" : `slot ${moment.slot.toLocaleString("en")}`;
  find("where").textContent = `${to} of ${last} · ${slot}`;
  find("scrub").setAttribute("aria-valuetext", `moment ${to} of ${last}, ${slot}`);
  if (follow) keepInSight(moment.x);
}

function keepInSight(place) {
  const { scrollLeft, clientWidth } = scroller;
  const x = (place * svg.clientWidth) / svg.viewBox.baseVal.width; // a short conversation is fitted to the screen
  if (x < scrollLeft + 40) scroller.scrollLeft = x - 60;
  else if (x > scrollLeft + clientWidth * 0.72) scroller.scrollLeft = x - clientWidth * 0.72;
}

function isPlaying() {
  return timer !== null || frame !== null;
}

function pause() {
  clearTimeout(timer);
  cancelAnimationFrame(frame ?? 0);
  timer = frame = null;
  find("play").textContent = position === last ? "↺ Again" : "▶ Play";
  find("caption").setAttribute("aria-live", "polite");
}

function play() {
  find("play").textContent = "❚❚ Pause";
  find("caption").setAttribute("aria-live", "off"); // nobody wants this read out at such a pace
  if (position === last) show(0);
  look();
}

function look() {
  if (position === last) {
    pause();
    return;
  }
  timer = setTimeout(travel, moments[position].ms / speed());
}

function travel() {
  timer = null;
  const [from, to] = [moments[position].x, moments[position + 1].x];
  const takes = still.matches ? 0 : Math.min(900, 14 * (to - from)) / speed();
  let begun = null;
  const draw = (now) => {
    begun ??= now;
    const part = takes ? Math.min(1, (now - begun) / takes) : 1;
    if (part < 1) {
      drawTo(from + part * (to - from));
      keepInSight(from + part * (to - from));
      frame = requestAnimationFrame(draw);
      return;
    }
    frame = null;
    show(position + 1);
    look();
  };
  frame = requestAnimationFrame(draw);
}

function go(to) {
  pause();
  show(Math.max(0, Math.min(last, to)));
  pause(); // says what the button does from here
}

find("play").addEventListener("click", () => (isPlaying() ? pause() : play()));
find("step").addEventListener("click", () => go(position + 1));
find("back").addEventListener("click", () => go(position - 1));
find("scrub").addEventListener("input", (event) => go(Number(event.target.value)));
svg.addEventListener("click", (event) => {
  const mark = event.target.closest(".moment");
  if (mark) go(Number(mark.dataset.moment));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("button, input, select, .events, .timelines") && event.target !== scroller) return;
  const wanted = {
    " ": () => (isPlaying() ? pause() : play()),
    ArrowLeft: () => go(position - 1),
    ArrowRight: () => go(position + 1),
    Home: () => go(0),
    End: () => go(last),
  }[event.key];
  if (wanted) {
    event.preventDefault();
    wanted();
  }
});
addEventListener("beforeprint", () => go(last));

if (last > 0) {
  find("controls").hidden = find("keys").hidden = false;
  if (still.matches) {
    go(last);
    scroller.scrollLeft = 0;
  } else {
    show(0);
    play();
  }
}
