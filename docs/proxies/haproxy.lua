-- Asks Bramley about a request before HAProxy passes it on:
--
--     http-request lua.bramley https app.example.com
--
-- Scheme and host are the site's public address, never the client's Host.

local verify = "http://127.0.0.1:8080/auth/verify?redirect=true&cached=true"

-- What Bramley needs: who asks, in which language, and whether it loads a page. No content, no Upgrade.
local passed = {
    "cookie", "authorization", "accept", "accept-language", "sec-fetch-mode", "x-requested-with", "x-request-id",
}

-- Set for the application. Bramley always sends all of them, empty if unknown.
local identity = {
    "x-auth-request-user", "x-auth-request-email", "x-auth-request-preferred-username", "x-auth-request-name",
    "x-auth-request-groups",
}

-- Returned to the client with Bramley's status and page.
local returned = {
    "location", "www-authenticate", "content-type", "content-language", "cache-control", "content-security-policy",
    "x-content-type-options", "referrer-policy", "retry-after",
}

-- Who may pass, until the clock's next second, where Bramley allows it: its answer holds for every path of the host.
local kept, second, count = {}, 0, 0
local mostKept = 10000

local function key(host, headers)
    local function joined(name)
        return table.concat(headers[name] or {}, "\n\n")
    end
    return host .. "\n" .. joined("cookie") .. "\n" .. joined("authorization")
end

local function first(headers, name)
    local values = headers and headers[name]
    if type(values) == "table" then
        return values[0] or values[1]
    end
    return values
end

local function answer(txn, status, headers, body)
    local reply = txn:reply()
    reply:set_status(status)
    for _, name in ipairs(returned) do
        local value = first(headers, name)
        if value then
            reply:add_header(name, value)
        end
    end
    reply:set_body(body or "")
    txn:done(reply)
end

core.register_action("bramley", { "http-req" }, function(txn, scheme, host)
    local sent = txn.http:req_get_headers()
    local headers = {
        ["x-forwarded-proto"] = { scheme },
        ["x-forwarded-host"] = { host },
        ["x-forwarded-uri"] = { txn.f:pathq() },
        ["x-forwarded-method"] = { txn.f:method() },
        ["x-forwarded-for"] = { txn.f:src() },
    }
    for _, name in ipairs(passed) do
        local values = {}
        -- Pass repeated fields as they are: Bramley refuses them.
        local index = 0
        while sent[name] and sent[name][index] do
            values[#values + 1] = sent[name][index]
            index = index + 1
        end
        if #values > 0 then
            headers[name] = values
        end
    end

    local now = core.now().sec
    if now ~= second then
        kept, second, count = {}, now, 0
    end
    local mine = key(host, headers)
    local known = kept[mine]
    if known then
        for _, name in ipairs(identity) do
            txn.http:req_set_header(name, known[name])
        end
        return
    end

    local response = core.httpclient():get({ url = verify, headers = headers, timeout = 5000 })
    local status = response and tonumber(response.status) or 0
    if status == 204 then
        local values = {}
        for _, name in ipairs(identity) do
            values[name] = first(response.headers, name) or ""
            txn.http:req_set_header(name, values[name])
        end
        -- The second in which it was asked, not that of the answer.
        local may = first(response.headers, "x-accel-expires") and not response.headers["set-cookie"]
        if may and now == second and count < mostKept then
            kept[mine], count = values, count + 1
        end
    elseif status >= 300 and status < 600 then
        answer(txn, status, response.headers, response.body)
    else
        -- Bramley is not reachable: deny access.
        answer(txn, 503, { ["retry-after"] = { "5" } }, "")
    end
end, 2)
