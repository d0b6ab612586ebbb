"use strict";
// Every page works without this file. It saves page loads, shows how long a question has been running and lets it be
// cancelled, stops a second press of a button, and copies code.

let form, said; // of the page that stands here now

function busy(on) {
  form.toggleAttribute("data-busy", on);
  said.setAttribute("aria-busy", String(on));
  for (const button of form.elements) {
    if (button.type === "submit") { button.setAttribute("aria-disabled", String(on)); }
  }
}

function element(name, text, classes = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (classes !== "") { made.className = classes; }
  return made;
}

async function sent(fields, signal) {
  return fetch(form.action, { method: "POST", body: fields, headers: { Accept: "text/html" }, signal });
}

// The page that came takes the place of this one: its form holds what was written, and errors stand beside their fields.
async function show(reply) {
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const found = page.getElementById("content");
  if (page.getElementById("ask") === null) { // signed out meanwhile: the page that came says so
    location.assign("/");
    return;
  }
  const more = document.getElementById("more").open;
  document.getElementById("content").replaceWith(found);
  bind();
  document.getElementById("more").open ||= more;
  const alert = found.querySelector("[role=alert][tabindex]");
  if (alert === null) { said.scrollIntoView({ block: "nearest" }); } else { alert.focus(); }
}

async function forecast() {
  const fields = new URLSearchParams(new FormData(form));
  fields.set("do", "forecast");
  busy(true);
  try {
    await show(await sent(fields));
  } catch {
    said.textContent = "The service did not answer. Try again in a moment.";
  } finally {
    busy(false);
  }
}

// What became of a question that was given up: asked until the service knows. Only what was not charged yet costs nothing.
async function given_up(key) {
  for (let wait = 300; ; wait = Math.min(2 * wait, 5000)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const fields = new URLSearchParams({ key });
    const reply = await fetch("/cancel", { method: "POST", body: fields, headers: { Accept: "text/html" } });
    const found = await reply.json();
    if (found.state === "cancelled") {
      form.elements.key.value = found.key;
      said.replaceChildren(element("p", "Cancelled. Nothing was charged.", "notice"));
      return;
    }
    if (found.state === "unfinished") {
      said.replaceChildren(element("p", "It is charged already, or about to be: waiting for how it ends.", "notice"));
      continue;
    }
    const words = element("p", "It was charged before you cancelled it, and stays charged. ", "notice");
    if (found.id === null || found.id === undefined) {
      words.textContent += found.message ?? "";
    } else {
      const link = element("a", "See the answer");
      link.href = `/answers/${found.id}`;
      words.append(link);
    }
    said.replaceChildren(words);
    return;
  }
}

const STEPS = {
  waiting: "It waits for a place. Nothing is charged yet",
  begun: "Its turn has come, and it is being checked. Nothing is charged yet",
  counting: "It is charged, and the database counts",
  unknown: "The question waits for its turn, or runs",
};

// Asks now and then which step a question is at; another process may have it, and then the last known step stays.
function follow(key, on_step) {
  let timer, wait = 500;
  const look = async () => {
    try {
      const reply = await fetch("/progress", { method: "POST", body: new URLSearchParams({ key }) });
      const { step } = reply.ok ? await reply.json() : { step: "unknown" };
      if (step !== "unknown") { on_step(step); }
    } catch { /* the question itself says what is wrong */ }
    wait = Math.min(2 * wait, 5000);
    timer = setTimeout(look, wait);
  };
  timer = setTimeout(look, wait);
  return () => clearTimeout(timer);
}

// While a question runs: which step it is at, how long it has been, and a button that gives it up.
async function ask() {
  const fields = new URLSearchParams(new FormData(form)), left = new AbortController();
  fields.set("do", "ask");
  const begun = performance.now(), line = element("p", "", "notice"), bar = document.createElement("progress");
  const cancel = element("button", "Cancel", "second");
  bar.setAttribute("aria-label", "The question waits or runs");
  cancel.type = "button";
  cancel.addEventListener("click", () => left.abort());
  let step = "unknown";
  const tell = () => {
    const seconds = Math.floor((performance.now() - begun) / 1000);
    line.textContent = `${STEPS[step]}: ${seconds} s so far.`;
  };
  tell();
  const clock = setInterval(tell, 1000);
  const unfollow = follow(fields.get("key"), (found) => { step = found; tell(); });
  busy(true);
  said.replaceChildren(line, bar, cancel);
  cancel.focus();
  try {
    const reply = await sent(fields, left.signal);
    if (reply.redirected) {
      location.assign(reply.url);
      return;
    }
    await show(reply);
  } catch {
    if (left.signal.aborted) {
      said.replaceChildren(element("p", "Cancelling …", "notice"));
      await given_up(fields.get("key")).catch(() => {
        said.replaceChildren(element("p", "The service did not answer. The history says what was charged.", "notice stop"));
      });
    } else {
      said.replaceChildren(element("p", "The service did not answer. Press Ask again: nothing is paid for twice.", "notice stop"));
    }
  } finally {
    clearInterval(clock);
    unfollow();
    busy(false);
  }
}

function bind() {
  form = document.getElementById("ask");
  said = document.getElementById("said");
  if (form === null || said === null) { return; }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.hasAttribute("data-busy")) { return; }
    if (event.submitter !== null && event.submitter.value === "ask") {
      ask(); // the key in the form makes a second press free; this makes it rare
    } else {
      forecast();
    }
  });
}
bind();
if (form) { window.addEventListener("pageshow", () => busy(false)); } // back from the answer, the form may be used again

for (const code of document.querySelectorAll("pre[data-copy]")) {
  const button = element("button", `Copy as ${code.dataset.copy}`, "second small-button"), done = element("span", "", "copied");
  button.type = "button";
  done.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      done.textContent = "Copied.";
    } catch {
      done.textContent = "Select the text, and copy it yourself.";
    }
  });
  code.after(button, done);
}
