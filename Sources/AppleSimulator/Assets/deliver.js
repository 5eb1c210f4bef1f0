// Carries the result of a sign-in back: posts the form, or tells the window that opened this popup.
"use strict";

const form = document.getElementById("delivery");
if (form) {
  form.submit();
}

const message = document.getElementById("message");
if (message) {
  const status = document.getElementById("status");
  if (window.opener) {
    window.opener.postMessage(message.textContent, message.dataset.origin);
    status.textContent = "Done. You can close this window.";
  } else {
    status.textContent =
      "The window that opened this popup cannot be reached. Its Cross-Origin-Opener-Policy must be " +
      "same-origin-allow-popups or unsafe-none.";
  }
}
