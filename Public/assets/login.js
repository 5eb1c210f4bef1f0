// Wires Apple's button to this page: follows the colour scheme, gives Apple's script the attempt that came with the
// page, and renews that attempt before it is half as old as it may be. Whatever fails, the plain link stays: it starts
// an attempt of its own when it is followed.
(() => {
  "use strict";
  const box = document.getElementById("sign-in");
  const button = document.getElementById("appleid-signin");
  const script = document.getElementById("apple-script");
  const status = document.getElementById("status");
  if (!box || !button || !script || !status) return;

  const value = (name) => document.querySelector(`meta[name="appleid-signin-${name}"]`).content;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const lifetime = Number(box.dataset.lifetime) * 1000;
  let renewAfter = Number(box.dataset.renewAfter) * 1000;
  // The newest attempt, and the birth of the one Apple's script was given.
  let state = value("state");
  let nonce = value("nonce");
  let bornAt = Date.now();
  let givenBirth = bornAt;
  let timer = 0;
  let renewing = false;
  let ready = false;
  // Apple's script drew its button for another colour scheme.
  let isFaded = false;

  const follow = () => {
    if ("followsScheme" in button.dataset) button.dataset.color = dark.matches ? "white" : "black";
  };

  const isRendered = () => button.childElementCount > 0;

  const isYoung = () => Date.now() - givenBirth < lifetime;

  // popup.js says so. Apple's script is left alone meanwhile, as long as the window's own attempt can still succeed.
  const hasWindow = () => "window" in box.dataset && isYoung();

  // Exactly one of the two is shown: Apple's button while it works and its attempt is young, else the link.
  const show = () => {
    box.classList.toggle("ready", ready && isRendered() && isYoung());
  };

  const start = () => {
    if (!window.AppleID) return show();
    // Apple's script may draw its button anew: whoever stood on it stays there.
    const hadFocus = button.contains(document.activeElement);
    if (isFaded) button.replaceChildren();
    isFaded = false;
    try {
      const settings = {
        clientId: value("client-id"), redirectURI: value("redirect-uri"), state, nonce,
        usePopup: value("use-popup") === "true",
      };
      if (value("scope")) settings.scope = value("scope");
      window.AppleID.auth.init(settings);
      if (!isRendered()) window.AppleID.auth.renderButton();
      givenBirth = bornAt;
      ready = true;
    } catch {
      ready = false;
    }
    show();
    if (hadFocus && !button.contains(document.activeElement)) button.querySelector("[tabindex]")?.focus();
  };

  const plan = (delay) => {
    clearTimeout(timer);
    timer = setTimeout(renew, delay);
  };

  const renew = async () => {
    // A page that cannot begin anew: its attempt is the only one.
    if (!box.dataset.attemptUrl) return show();
    if (renewing) return;
    renewing = true;
    const askedAt = Date.now();
    try {
      const answer = await fetch(box.dataset.attemptUrl, {
        cache: "no-store",
        credentials: "same-origin",
        headers: { Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const attempt = await answer.json();
      state = attempt.state;
      nonce = attempt.nonce;
      document.querySelector('meta[name="appleid-signin-state"]').content = state;
      document.querySelector('meta[name="appleid-signin-nonce"]').content = nonce;
      renewAfter = attempt.renewAfter * 1000;
      bornAt = askedAt;
      if (hasWindow()) show();
      else start();
      plan(renewAfter);
    } catch {
      show();
      plan(Math.min(renewAfter, 15000));
    } finally {
      renewing = false;
    }
  };

  const renewIfDue = () => {
    if (Date.now() - bornAt >= renewAfter) renew();
  };

  follow();
  script.addEventListener("load", start);
  script.addEventListener("error", show);
  dark.addEventListener("change", () => {
    if (!("followsScheme" in button.dataset)) return;
    follow();
    isFaded = ready;
    if (isFaded && !hasWindow()) start();
  });
  // Apple's page can take a moment; a screen reader says so too. A window of its own has its own words.
  box.addEventListener("click", () => {
    if (!hasWindow()) status.textContent = status.dataset.opening;
  });
  // What was put off while the window was open.
  box.addEventListener("windowended", () => {
    if (ready && (isFaded || bornAt !== givenBirth)) start();
    renewIfDue();
  });
  // A page from the back-forward cache shows an attempt that may have been used.
  window.addEventListener("pageshow", (event) => {
    status.textContent = "";
    if (event.persisted) renew();
  });
  // Timers sleep with the computer.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) renewIfDue();
  });
  plan(renewAfter);
})();
