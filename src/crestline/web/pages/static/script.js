"use strict";
// Every page works without this file. It saves a page load for a forecast, and stops a second press of a button.

const form = document.querySelector("form.ask[data-forecast]");
const said = document.getElementById("said");

function busy(on) {
  form.toggleAttribute("data-busy", on);
  said.setAttribute("aria-busy", String(on));
  for (const button of form.querySelectorAll("button")) {
    button.setAttribute("aria-disabled", String(on));
  }
}

async function forecast() {
  const fields = new URLSearchParams(new FormData(form));
  fields.set("do", "forecast");
  busy(true);
  try {
    const reply = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const found = page.getElementById("said");
    if (found === null) { // signed out meanwhile: the page that came says so
      location.assign("/");
      return;
    }
    said.replaceChildren(...found.childNodes);
    said.scrollIntoView({ block: "nearest" });
  } catch {
    said.textContent = "The service did not answer. Try again in a moment.";
  } finally {
    busy(false);
  }
}

if (form !== null && said !== null) {
  form.addEventListener("submit", (event) => {
    if (form.hasAttribute("data-busy")) {
      event.preventDefault();
      return;
    }
    if (event.submitter !== null && event.submitter.value === "forecast") {
      event.preventDefault();
      forecast();
      return;
    }
    busy(true); // the key in the form makes a second press free; this makes it rare
  });
  window.addEventListener("pageshow", () => busy(false)); // back from the answer, the form may be used again
}
