/// The page for people; all its actions use the JSON interface.
enum ControlPage {
    static func html() -> String {
        Page.shell(
            title: "Controls",
            body: """
                <h1>Controls of the simulated Apple</h1>
                <p>Every button here is one call of the JSON interface under <code>/simulator/api/</code>; \
                docs/apple-simulator.md lists them. <code>GET /simulator/api/state</code> shows everything at once.</p>
                <noscript><p class="problem">This page needs scripts; the JSON interface does not.</p></noscript>
                <p id="answer" role="status"></p>
                <div class="cards">
                \(people)
                \(notifications)
                \(keys)
                \(tokens)
                \(faults)
                \(clock)
                \(journal)
                </div>
                """, script: "control.js", isWide: true)
    }

    private static let people = """
        <section class="card whole"><h2>People</h2>
        <div class="scroll"><table>
        <thead><tr><th>Person</th><th>Team and sub</th><th>Consent</th><th>Do</th></tr></thead>
        <tbody id="people"></tbody></table></div></section>
        """

    private static let notifications = """
        <section class="card"><h2>Send a notification</h2>
        <form id="notify">
        <label for="notify-person">Person</label><select id="notify-person" name="person"></select>
        <label for="notify-type">Type</label><select id="notify-type" name="type">
        <option>consent-revoked</option><option>account-delete</option><option>account-deleted</option>
        <option>email-disabled</option><option>email-enabled</option><option>something-new</option></select>
        <label for="notify-time">Event time, seconds from now</label>
        <input id="notify-time" name="when" type="number" value="0">
        <label for="notify-copies">Deliveries; 0 keeps it for later</label>
        <input id="notify-copies" name="copies" type="number" min="0" max="100" value="1">
        <label for="notify-events">Write events as</label><select id="notify-events" name="events">
        <option value="string">a JSON text (what Apple sends)</option>
        <option value="object">an object (what Apple documents)</option></select>
        <label for="notify-unit">Write event_time in</label><select id="notify-unit" name="unit">
        <option>milliseconds</option><option>seconds</option></select>
        <button class="primary">Send</button></form>
        <h2>Sent</h2><div class="scroll"><table><tbody id="notifications"></tbody></table></div></section>
        """

    private static let keys = """
        <section class="card"><h2>Keys</h2>
        <p>Signing with <code id="signing"></code>; the set is published as <strong id="key-mode"></strong>.</p>
        <p class="row"><button data-call="POST keys/rotate">Rotate</button>
        <button data-call="POST keys/rotate" data-body='{"dropOld":true}'>Rotate, drop the old ones</button></p>
        <div class="row" id="key-modes"></div></section>
        """

    private static let tokens = """
        <section class="card"><h2>Identity tokens</h2>
        <p>Errors in the next tokens: <strong id="wrong"></strong></p>
        <div class="row">
        \(TokenQuirks.Flaw.allCases.map {
            "<button data-call=\"PUT tokens\" data-body='{\"wrong\":[\"\($0.rawValue)\"]}'>\($0.rawValue)</button>"
        }.joined(separator: "\n"))
        </div>
        <p class="row"><button data-call="PUT tokens" data-body='{"flags":"string"}'>Flags as text</button>
        <button data-call="PUT tokens" data-body='{"flags":"boolean"}'>Flags as booleans</button>
        <button data-call="PUT tokens" data-body='{"isPrivateEmail":"never"}'>No is_private_email</button>
        <button data-call="PUT tokens" data-body='{"email":"absent"}'>No email</button>
        <button class="primary" data-call="DELETE tokens">Valid tokens again</button></p></section>
        """

    private static let faults = """
        <section class="card"><h2>Faults</h2>
        <p>Active: <code id="faults"></code><br>Hanging requests: <span id="hanging"></span></p>
        <label for="fault-endpoint">Endpoint</label><select id="fault-endpoint">
        <option>token</option><option>keys</option>
        <option>revoke</option><option>authorize</option><option>usermigrationinfo</option><option>script</option>
        <option>button</option><option>configuration</option></select>
        <div class="row" id="fault-buttons">
        \(faultKinds.map { "<button data-fault='\($0.json)'>\($0.label)</button>" }.joined(separator: "\n"))
        </div>
        <button class="primary" data-call="POST faults/reset">No faults</button></section>
        """

    private static let faultKinds: [(label: String, json: String)] = [
        ("2 s late", #"{"delay":2000}"#), ("Hang", #"{"hang":true}"#), ("Stall half-way", #"{"stall":true}"#),
        ("500", #"{"status":500}"#), ("503", #"{"status":503}"#), ("200 HTML", #"{"status":200,"body":"html"}"#),
        ("Huge body", #"{"body":"huge"}"#), ("Close half-way", #"{"close":"half"}"#),
        ("Garbage", #"{"body":"garbage"}"#),
        ("Empty body", #"{"body":"empty"}"#), ("403 without User-Agent", #"{"requireUserAgent":true}"#),
        ("invalid_grant", #"{"error":"invalid_grant"}"#), ("invalid_client", #"{"error":"invalid_client"}"#),
    ]

    private static let clock = """
        <section class="card"><h2>Clock and the rest</h2>
        <form id="clock"><label for="clock-offset">Seconds ahead of the real time</label>
        <input id="clock-offset" name="offset" type="number" value="0"><p><button>Set the clock</button></p></form>
        <p class="row"><button data-call="PUT behaviour" data-body='{"errorAfterRevocation":"invalid_request"}'>\
        invalid_request after revocation</button>
        <button data-call="PUT behaviour" data-body='{"errorAfterRevocation":"invalid_grant"}'>\
        invalid_grant after revocation</button></p>
        <p><button data-call="POST reset">Reset everything but the keys</button></p>
        <h2>Requests</h2><div class="scroll"><table><tbody id="counters"></tbody></table></div></section>
        """

    private static let journal = """
        <section class="card whole"><h2>What happened, and why</h2>
        <div class="scroll"><table><tbody id="journal"></tbody></table></div></section>
        """
}
