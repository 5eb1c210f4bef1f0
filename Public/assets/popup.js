// Apple's page in a window of its own: says how it goes there, posts Apple's answer to the callback as a hidden form, and
// falls back to the redirect where no window opens. Apple's script opens the window and tells the outcome by events.
(() => {
  "use strict";
  const box = document.getElementById("sign-in");
  const button = document.getElementById("appleid-signin");
  const link = document.getElementById("apple-link");
  const status = document.getElementById("status");
  const here = document.getElementById("here");
  if (!box || !button || !link || !status || !here) return;

  // Apple's answer is on its way to the callback: nothing that is said about the window counts any more.
  let isLeaving = false;

  const say = (text) => {
    status.textContent = status.dataset[text] || "";
  };

  // login.js leaves Apple's script alone while this mark is there, and looks after the attempt when it goes.
  const ended = () => {
    delete box.dataset.window;
    box.dispatchEvent(new Event("windowended"));
  };

  const opens = () => {
    box.dataset.window = "";
    here.hidden = false;
    say("opened");
  };

  // The same fields Apple's own page posts, in a form made here, so that nothing secret is part of an address. The flag
  // says that a page of ours sends it: the callback then insists on our own origin.
  const post = (authorization, user) => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = here.dataset.callback;
    form.hidden = true;
    const fields = {
      state: authorization.state, code: authorization.code, id_token: authorization.id_token,
      user: user && JSON.stringify(user), bramley_repost: "1",
    };
    for (const [name, value] of Object.entries(fields)) {
      if (!value) continue;
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    form.submit();
    // A page that waits in the back-forward cache keeps no code.
    form.remove();
  };

  document.addEventListener("AppleIDSignInOnSuccess", (event) => {
    const { authorization, user } = event.detail || {};
    if (!authorization || !authorization.code || !authorization.id_token) {
      say("failed");
      return ended();
    }
    isLeaving = true;
    say("finishing");
    post(authorization, user);
    ended();
  });

  document.addEventListener("AppleIDSignInOnFailure", (event) => {
    if (isLeaving) return;
    const error = event.detail && event.detail.error;
    // The button was pressed again: this window is gone, the next one is open.
    if (error === "user_trigger_new_signin_flow") return;
    if (error === "popup_blocked_by_browser") {
      say("opening");
      window.location.assign(link.href);
    } else if (error === "popup_closed_by_user") {
      say("closed");
    } else if (error === "user_cancelled_authorize") {
      // The application has a page for it: not this one, which would wait for another try.
      if (here.dataset.cancelled) window.location.assign(here.dataset.cancelled);
      say("cancelled");
    } else {
      say("failed");
    }
    ended();
  });

  // Before Apple's script hears of it: a blocked window is told at once.
  button.addEventListener("click", opens, true);
  button.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") opens();
  }, true);

  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    isLeaving = false;
    here.hidden = true;
    ended();
  });
})();
