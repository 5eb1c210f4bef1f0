// The control page: shows GET /simulator/api/state and turns buttons into calls of the JSON interface.
"use strict";

const answer = document.getElementById("answer");

async function call(method, path, body) {
  const response = await fetch("/simulator/api/" + path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const json = await response.json();
  if (!response.ok) {
    throw new Error(json.error || response.statusText);
  }
  return json;
}

async function run(method, path, body) {
  try {
    await call(method, path, body);
    answer.textContent = "Done: " + method + " /simulator/api/" + path;
  } catch (error) {
    answer.textContent = error.message;
  }
  await refresh();
}

function element(name, text, children = []) {
  const node = document.createElement(name);
  node.textContent = text;
  node.append(...children);
  return node;
}

function button(text, action) {
  const node = element("button", text);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
}

function fill(id, children) {
  document.getElementById(id).replaceChildren(...children);
}

function time(milliseconds) {
  return new Date(milliseconds).toLocaleTimeString();
}

function personRows(person) {
  return person.teams.map((team) => {
    const name = element("td", person.givenName + " " + person.familyName, [element("span", person.note)]);
    name.lastChild.className = "detail";
    const consent = team.consented
      ? "yes, " + team.address + (team.email ? " (" + team.email + ")" : "") + (team.forwarding ? "" : ", not forwarding")
      : "no";
    const actions = element("div", "");
    actions.className = "row";
    const body = { person: person.id, team: team.team };
    actions.append(
      button("Revoke", () => run("POST", "consents/revoke", body)),
      button("Revoke and notify", () => run("POST", "consents/revoke", { ...body, notify: true })));
    const cells = [
      name, element("td", "", [element("span", team.team + " "), element("code", team.sub)]), element("td", consent),
      element("td", "", team.consented ? [actions] : []),
    ];
    return element("tr", "", cells);
  });
}

function notificationRow(sent) {
  const outcome = sent.deliveries.map((delivery) => delivery.status ?? delivery.failure).join(", ") || "not delivered";
  return element("tr", "", [
    element("td", sent.type), element("td", sent.person || ""), element("td", outcome),
    element("td", "", [button("Again", () => run("POST", "notifications/" + sent.id + "/deliver"))]),
  ]);
}

function show(state) {
  fill("people", state.people.flatMap(personRows));
  const select = document.getElementById("notify-person");
  if (select.options.length !== state.people.length) {
    select.replaceChildren(...state.people.map((person) => new Option(person.givenName + " " + person.familyName, person.id)));
  }
  fill("notifications", state.notifications.slice(-8).reverse().map(notificationRow));
  document.getElementById("signing").textContent = state.keys.signing;
  document.getElementById("key-mode").textContent = state.keys.mode;
  const modes = document.getElementById("key-modes");
  if (!modes.childElementCount) {
    modes.append(...state.keys.modes.map((mode) => button(mode, () => run("PUT", "keys", { mode }))));
  }
  document.getElementById("wrong").textContent = state.tokens.wrong.join(", ") || "nothing";
  document.getElementById("faults").textContent =
    Object.keys(state.faults).length ? JSON.stringify(state.faults) : "none";
  document.getElementById("hanging").textContent = state.hanging;
  fill("counters", Object.entries(state.counters).map(([name, counter]) => element("tr", "", [
    element("td", name), element("td", counter.requests),
    element("td", Object.entries(counter.statuses).map(([status, count]) => status + " × " + count).join(", ")),
  ])));
  fill("journal", state.journal.slice(-40).reverse().map((entry) => element("tr", "", [
    element("td", time(entry.time)), element("td", entry.endpoint), element("td", entry.text),
  ])));
}

async function refresh() {
  try {
    show(await call("GET", "state"));
  } catch (error) {
    answer.textContent = "The simulator does not answer: " + error.message;
  }
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-call], [data-fault]");
  if (!target) {
    return;
  }
  if (target.dataset.fault) {
    run("PUT", "faults/" + document.getElementById("fault-endpoint").value, JSON.parse(target.dataset.fault));
    return;
  }
  const [method, path] = target.dataset.call.split(" ");
  run(method, path, target.dataset.body ? JSON.parse(target.dataset.body) : undefined);
});

document.getElementById("notify").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const copies = Number(form.get("copies"));
  run("POST", "notifications", {
    type: form.get("type"), person: form.get("person"), eventOffset: Number(form.get("when")), copies,
    deliver: copies > 0, events: form.get("events"), unit: form.get("unit"),
  });
});

document.getElementById("clock").addEventListener("submit", (event) => {
  event.preventDefault();
  run("PUT", "clock", { offset: Number(new FormData(event.target).get("offset")) });
});

refresh();
setInterval(refresh, 2000);
