// A stand-in for Apple's script, for development. Written from the documented behaviour of Sign in with Apple JS:
// the same calls, events, failures and page attributes; none of Apple's code, type or artwork.
(function () {
  "use strict";

  // Everything happens on the origin this script came from.
  const source = new URL(document.currentScript.src);
  const locale = source.pathname.split("/").slice(-2)[0];
  const metaNames = {
    "client-id": "clientId", "scope": "scope", "redirect-uri": "redirectURI", "state": "state", "nonce": "nonce",
    "use-popup": "usePopup",
  };
  const textOptions = [
    "clientId", "redirectURI", "scope", "state", "nonce", "codeChallenge", "codeChallengeMethod",
  ];
  let settings = null;
  // The popup that is open, and how to end waiting for it.
  let flow = null;

  function optionsOf(config, where) {
    const options = {};
    for (const [name, value] of Object.entries(config || {})) {
      if (value === undefined) {
        continue;
      }
      if (name === "usePopup") {
        if (typeof value !== "boolean") {
          throw new Error(where + ": usePopup must be a boolean.");
        }
      } else if (textOptions.includes(name)) {
        if (typeof value !== "string" || value === "") {
          throw new Error(where + ": " + name + " must be a non-empty string.");
        }
      } else {
        continue;
      }
      options[name] = value;
    }
    return options;
  }

  function metaOptions() {
    const options = {};
    for (const [name, option] of Object.entries(metaNames)) {
      const meta = document.querySelector('meta[name="appleid-signin-' + name + '"]');
      if (meta && meta.content) {
        options[option] = option === "usePopup" ? meta.content === "true" : meta.content;
      }
    }
    return options;
  }

  function init(config) {
    const options = Object.assign(metaOptions(), optionsOf(config, "AppleID.auth.init"));
    for (const name of ["clientId", "redirectURI"]) {
      if (!options[name]) {
        throw new Error("AppleID.auth.init: " + name + " is required.");
      }
    }
    settings = options;
    renderButton();
  }

  function identifier() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  // In this order, each value through encodeURIComponent.
  function authorizeURL(options) {
    const parameters = [
      ["client_id", options.clientId], ["redirect_uri", options.redirectURI], ["response_type", "code id_token"],
      ["state", options.state], ["scope", options.scope], ["nonce", options.nonce],
      ["response_mode", options.usePopup ? "web_message" : "form_post"], ["frame_id", identifier()], ["m", "0"],
      ["v", "1.5.6"], ["code_challenge", options.codeChallenge],
      ["code_challenge_method", options.codeChallengeMethod],
    ];
    return source.origin + "/auth/authorize?" + parameters
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => name + "=" + encodeURIComponent(value))
      .join("&");
  }

  function tell(name, detail) {
    document.dispatchEvent(new CustomEvent(name, { detail }));
  }

  function popup(options) {
    if (flow) {
      flow.fail("user_trigger_new_signin_flow");
    }
    return new Promise((resolve, reject) => {
      const left = Math.max(0, (screen.width - 700) / 2);
      const top = Math.max(0, (screen.height - 700) / 2);
      const view = window.open(
        authorizeURL(options), "AppleAuthentication",
        "popup,width=700,height=700,left=" + left + ",top=" + top);
      if (!view) {
        reject({ error: "popup_blocked_by_browser" });
        return;
      }
      const end = () => {
        clearInterval(poll);
        window.removeEventListener("message", receive);
        flow = null;
      };
      const fail = (error) => {
        end();
        view.close();
        reject({ error });
      };
      const receive = (event) => {
        if (event.origin !== source.origin || typeof event.data !== "string") {
          return;
        }
        let message;
        try {
          message = JSON.parse(event.data);
        } catch {
          return;
        }
        if (message.method !== "oauthDone") {
          return;
        }
        const data = message.data || {};
        if (data.error) {
          fail(data.error);
          return;
        }
        end();
        view.close();
        resolve(data);
      };
      const poll = setInterval(() => {
        if (view.closed) {
          fail("popup_closed_by_user");
        }
      }, 300);
      window.addEventListener("message", receive);
      flow = { fail };
    });
  }

  // Fires the events and settles a promise. In redirect mode the page goes away instead.
  function signIn(config) {
    if (!settings) {
      throw new Error("AppleID.auth.signIn: call AppleID.auth.init first.");
    }
    const options = Object.assign({}, settings, optionsOf(config, "AppleID.auth.signIn"));
    if (!options.usePopup) {
      window.location.assign(authorizeURL(options));
      return new Promise(() => {});
    }
    const result = popup(options);
    result.then(
      (detail) => tell("AppleIDSignInOnSuccess", detail),
      (detail) => tell("AppleIDSignInOnFailure", detail));
    return result;
  }

  const labels = {
    ar: ["تسجيل الدخول باستخدام Apple", "المتابعة باستخدام Apple", "التسجيل باستخدام Apple"],
    de: ["Mit Apple anmelden", "Weiter mit Apple", "Mit Apple registrieren"],
    en: ["Sign in with Apple", "Continue with Apple", "Sign up with Apple"],
    es: ["Iniciar sesión con Apple", "Continuar con Apple", "Registrarse con Apple"],
    fr: ["Connexion avec Apple", "Continuer avec Apple", "S’inscrire avec Apple"],
    it: ["Accedi con Apple", "Continua con Apple", "Registrati con Apple"],
    ja: ["Appleでサインイン", "Appleで続ける", "Appleで登録"],
    ko: ["Apple로 로그인", "Apple로 계속하기", "Apple로 가입하기"],
    zh: ["通过 Apple 登录", "通过 Apple 继续", "通过 Apple 注册"],
  };

  function number(text, low, high, fallback) {
    const value = Number(text);
    return text !== undefined && text !== "" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : fallback;
  }

  function length(text, low, high) {
    return text === undefined || text === "100%" ? "100%" : number(text, low, high, low) + "px";
  }

  // Our own fruit: round, whole, with a leaf.
  function fruit(size) {
    return '<svg aria-hidden="true" focusable="false" width="' + size + '" height="' + size + '" viewBox="0 0 20 20">' +
      '<path fill="currentColor" d="M6 7h8a5 5 0 0 1 4 5.5C17.5 16 15 19 12.500 19h-5C5 19 2.500 16 2 12.500A5 5 0 0 1 6 7z"/>' +
      '<path fill="currentColor" d="M11 5c0-2 1.500-4 4-4 0 2.500-2 4-4 4z"/></svg>';
  }

  // left-align alone: how far from the left edge the label begins, when the page says so.
  function labelStyle(data, logo) {
    if (data.mode !== "left-align" || data.labelPosition === undefined) {
      return "";
    }
    const gap = number(data.labelPosition, 0, 375, 0) - number(data.logoPosition, 0, 100, 12) - logo;
    return ' style="margin-left:calc(' + Math.max(0, gap) + 'px - 0.5em)"';
  }

  function style(data) {
    const isLogo = data.mode === "logo-only";
    const isWhite = data.color === "white";
    const side = number(data.size, 16, 375, 44) + "px";
    const border = data.border === "false" ? "transparent" : isWhite ? "#000" : "#fff";
    return [
      "box-sizing:border-box", "display:flex", "align-items:center", "gap:0.5em",
      "justify-content:" + (data.mode === "left-align" ? "flex-start" : "center"),
      "width:" + (isLogo ? side : length(data.width, 130, 375)),
      "height:" + (isLogo ? side : length(data.height, 30, 64)), "min-height:30px",
      "padding:0 " + (isLogo ? 0 : number(data.logoPosition, 0, 100, 12)) + "px",
      "border:1px solid " + border, "border-radius:" + number(data.borderRadius, 0, 50, 15) + "px",
      "background:" + (isWhite ? "#fff" : "#000"), "color:" + (isWhite ? "#000" : "#fff"),
      "font:500 16px/1 system-ui,sans-serif", "white-space:nowrap", "overflow:hidden", "cursor:pointer",
    ].join(";");
  }

  function renderButton() {
    const place = document.getElementById("appleid-signin");
    if (!place) {
      return;
    }
    const data = place.dataset;
    const words = labels[locale.split("_")[0]] || labels.en;
    const kind = (data.type || "sign-in").replace(" ", "-");
    const label = words[kind === "continue" ? 1 : kind === "sign-up" ? 2 : 0];
    const logo = { small: 14, medium: 18, large: 24 }[data.logoSize] || 18;
    // Like Apple's, this button is styled by an attribute: a page that forbids inline styles shows it bare.
    place.innerHTML =
      '<div role="button" tabindex="0" aria-label="' + label + '" title="Simulated Apple" style="' + style(data) + '">' +
      fruit(logo) + (data.mode === "logo-only" ? "" : "<span" + labelStyle(data, logo) + ">" + label + "</span>") + "</div>";
    const button = place.firstElementChild;
    const start = () => {
      // The button tells its outcome by events alone.
      signIn().catch(() => {});
    };
    button.addEventListener("click", start);
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        start();
      }
    });
  }

  window.AppleID = { auth: { init, signIn, renderButton } };

  // Meta tags alone are enough to start.
  function startFromPage() {
    const options = metaOptions();
    if (!settings && options.clientId && options.redirectURI) {
      init();
    }
  }
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", startFromPage);
  } else {
    startFromPage();
  }
})();
