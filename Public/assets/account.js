// The account's pages without a full page load. Everything here also works without it: each form posts by itself, and
// what is shown afterwards is always the server's own page.
(() => {
  "use strict";
  const sessionURL = document.currentScript.dataset.sessionUrl;
  const language = document.documentElement.lang;
  const formats = {
    date: new Intl.DateTimeFormat(language, { dateStyle: "long" }),
    time: new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
    hour: new Intl.DateTimeFormat(language, { timeStyle: "short" }),
  };

  // Times in the visitor's own time zone and language.
  const localise = (root) => {
    for (const element of root.querySelectorAll("time[data-format]")) {
      const moment = new Date(element.dateTime);
      if (!Number.isNaN(moment.getTime())) element.textContent = formats[element.dataset.format].format(moment);
    }
    // The bars of the operator's chart.
    for (const title of root.querySelectorAll("title[data-hour]")) {
      const hour = formats.hour.format(new Date(title.dataset.moment));
      title.textContent = title.textContent.replace(title.dataset.hour, hour);
    }
  };

  // What was just done is said once, not again when the page is reloaded or kept as a bookmark.
  const forgetNotice = () => {
    const address = new URL(window.location.href);
    if (!address.searchParams.has("done")) return;
    address.searchParams.delete("done");
    window.history.replaceState(null, "", address);
  };

  // Posts a form and shows the list as the server has it now. Anything unexpected is left to the browser itself.
  const postInPlace = async (form) => {
    const answer = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin", cache: "no-store",
    });
    const here = new URL(window.location.href);
    const there = new URL(answer.url);
    if (there.pathname !== here.pathname) return window.location.assign(there);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = { list: page.getElementById("session-list"), said: page.getElementById("announcement") };
    if (!answer.ok || !fresh.list || !fresh.said) throw new Error("another page");
    localise(fresh.list);
    document.getElementById("session-list").replaceWith(document.adoptNode(fresh.list));
    const applications = page.getElementById("application-list");
    if (applications) {
      localise(applications);
      document.getElementById("application-list")?.replaceWith(document.adoptNode(applications));
    }
    // The button that was pressed is gone: the keyboard goes on from what is said about it.
    const announcement = document.getElementById("announcement");
    announcement.replaceChildren(...fresh.said.childNodes);
    announcement.focus();
  };

  const send = async (form) => {
    try {
      await postInPlace(form);
    } catch {
      form.removeAttribute("data-in-place");
      form.removeAttribute("data-confirm");
      form.removeAttribute("aria-busy");
      form.requestSubmit();
    }
  };

  // Asks first where the form names a dialog.
  const confirmed = (form) => new Promise((resolve) => {
    const dialog = document.getElementById(form.dataset.confirm || "");
    if (!dialog || !dialog.showModal) return resolve(true);
    const answer = (event) => {
      if (event.target.value === "go" || event.target.value === "cancel") dialog.close(event.target.value);
    };
    dialog.returnValue = "";
    dialog.addEventListener("click", answer);
    dialog.addEventListener("close", () => {
      dialog.removeEventListener("click", answer);
      resolve(dialog.returnValue === "go");
    }, { once: true });
    dialog.showModal();
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    // The second of two taps.
    if (form.getAttribute("aria-busy") === "true") return event.preventDefault();
    form.setAttribute("aria-busy", "true");
    if (!("inPlace" in form.dataset)) return;
    event.preventDefault();
    if (await confirmed(form)) await send(form);
    else form.removeAttribute("aria-busy");
  });

  // Only a clear 401 counts: a server that cannot be reached, or cannot look us up, has signed nobody out.
  const check = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(sessionURL, { cache: "no-store", credentials: "same-origin" });
      if (answer.status === 401) window.location.reload();
    } catch {
      // Offline: the next check will tell.
    }
  };
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.forms) form.removeAttribute("aria-busy");
    check();
  });
  document.addEventListener("visibilitychange", check);
  setInterval(check, 30000);
  localise(document);
  forgetNotice();
})();
