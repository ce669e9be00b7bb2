// The page of runs follows their files: it is told when they change, gets itself anew, and keeps what its reader has chosen.
const link = document.querySelector(".bar .link");
const say = (text) => { if (link) link.textContent = text; };
let fetching = false, again = false;

async function renew() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    const text = await (await fetch(location.href, { cache: "no-store" })).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const chosen = [...document.querySelectorAll("section")].map((one) => [one.querySelector("h2")?.textContent, one.querySelector("select")?.selectedOptions[0]?.textContent]);
    const open = new Set([...document.querySelectorAll("details[open] summary")].map((one) => one.textContent));
    const scroll = window.scrollY;
    document.title = fresh.title;
    // Content is taken over, never scripts: those of the page go on.
    const parts = [...fresh.body.children].filter((one) => one.tagName !== "SCRIPT" && !one.matches(".bar"));
    [...document.body.children].filter((one) => one.tagName !== "SCRIPT" && !one.matches(".bar")).forEach((one) => one.remove());
    document.querySelector(".bar").after(...parts);
    root.dataset.token = fresh.documentElement.dataset.token ?? "";
    for (const section of document.querySelectorAll("section")) {
      const before = chosen.find(([name]) => name === section.querySelector("h2")?.textContent)?.[1];
      const option = [...section.querySelectorAll("option")].find((one) => one.textContent === before);
      if (option) option.selected = true;
    }
    document.querySelectorAll("details").forEach((one) => { one.open = open.has(one.querySelector("summary").textContent); });
    begin();
    window.scrollTo(0, scroll);
    root.dataset.renewed = Number(root.dataset.renewed ?? 0) + 1;
  } catch (error) {
    say("The dashboard does not answer.");
  } finally {
    fetching = false;
    if (again) { again = false; renew(); }
  }
}

const source = new EventSource("/events" + location.search);
source.addEventListener("change", (event) => { say(""); if (event.data !== root.dataset.token) renew(); });
source.addEventListener("open", () => say(""));
source.addEventListener("error", () => say("The dashboard has ended; this page stays as it is."));
