// Shows times in the visitor's own time zone, and leaves the page when its session has ended elsewhere.
(() => {
  "use strict";
  const sessionURL = document.currentScript.dataset.sessionUrl;
  const language = document.documentElement.lang;
  const formats = {
    date: new Intl.DateTimeFormat(language, { dateStyle: "long" }),
    time: new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
  };
  for (const element of document.querySelectorAll("time[data-format]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.getTime())) element.textContent = formats[element.dataset.format].format(moment);
  }

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
    if (event.persisted) check();
  });
  document.addEventListener("visibilitychange", check);
  setInterval(check, 30000);
})();
