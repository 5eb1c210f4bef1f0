-- Asks Bramley about a request before Apache passes it on:
--
--     LuaHookAccessChecker /etc/apache2/bramley.lua verify
--
-- Debian: the packages apache2 (mod_lua is in it) and lua-socket.

require "apache2"
local http = require "socket.http"
local ltn12 = require "ltn12"
local socket = require "socket"

local bramley = "http://127.0.0.1:8080/auth/verify?redirect=true&cached=true"
-- The site's public address, with its port unless that is 443. Never the client's Host.
local scheme, host = "https", "app.example.com"

-- What Bramley needs: who asks, in which language, and whether it loads a page. No content, no Upgrade.
local passed = { "Cookie", "Authorization", "Accept", "Accept-Language", "Sec-Fetch-Mode", "X-Requested-With" }

-- Set for the application. Bramley always sends all of them, empty if unknown.
local identity = {
    "X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-Request-Preferred-Username", "X-Auth-Request-Name",
    "X-Auth-Request-Groups",
}

-- Returned to the client with Bramley's status and page.
local returned = {
    "Location", "WWW-Authenticate", "Content-Language", "Cache-Control", "Content-Security-Policy",
    "X-Content-Type-Options", "Referrer-Policy", "Retry-After",
}

-- What a client might claim about itself or the request: beginnings of names, and whole names.
local claims = {
    "^x%-auth%-request%-", "^x%-forwarded%-", "^x%-original%-", "^x%-rewrite%-", "^remote%-", "^x%-remote%-",
    "^x%-authenticated%-", "^forwarded$", "^x%-real%-ip$", "^x%-request%-id$",
}

-- Who may pass, until the clock's next second, where Bramley allows it: its answer holds for every path of the host.
-- Each of Apache's processes has up to 25 of these (LuaScope).
local kept, second = {}, 0

-- As in nginx, also every name with characters other than letters, digits and `-`: many applications read `_` as `-`,
-- some any character.
local function isClaim(name)
    if name:find("[^%w-]") then
        return true
    end
    for _, claim in ipairs(claims) do
        if name:lower():find(claim) then
            return true
        end
    end
    return false
end

local function strip(r)
    local names = {}
    for name in pairs(r:headers_in_table()) do
        if isClaim(name) then
            names[#names + 1] = name
        end
    end
    for _, name in ipairs(names) do
        r.headers_in[name] = nil
    end
    -- A client's Connection names fields that no proxy passes on (RFC 9110, 7.6.1): not those that are set below.
    r.headers_in["Connection"] = r.headers_in["Upgrade"] and "Upgrade" or nil
end

local function ask(r)
    local now = os.time()
    if now ~= second then
        kept, second = {}, now
    end
    local key = (r.headers_in["Cookie"] or "") .. "\n" .. (r.headers_in["Authorization"] or "")
    if kept[key] then
        return 204, kept[key], ""
    end
    local headers = {
        ["X-Forwarded-Proto"] = scheme,
        ["X-Forwarded-Host"] = host,
        ["X-Forwarded-Uri"] = r.unparsed_uri,
        ["X-Forwarded-Method"] = r.method,
        ["X-Forwarded-For"] = r.useragent_ip,
    }
    for _, name in ipairs(passed) do
        headers[name] = r.headers_in[name]
    end
    local content = {}
    local done, status, fields = http.request {
        url = bramley, method = "GET", headers = headers, redirect = false, sink = ltn12.sink.table(content),
        create = function()
            local connection = socket.tcp()
            connection:settimeout(5)
            return connection
        end,
    }
    if not done then
        return 503, {}, ""
    end
    if status == 204 and fields["x-accel-expires"] and not fields["set-cookie"] then
        kept[key] = fields
    end
    return status, fields, table.concat(content)
end

function verify(r)
    strip(r)
    local status, fields, content = ask(r)
    if status == 204 then
        for _, name in ipairs(identity) do
            r.headers_in[name] = fields[name:lower()] or ""
        end
        r.headers_in["X-Forwarded-For"] = r.useragent_ip
        r.headers_in["X-Forwarded-Proto"] = scheme
        r.headers_in["X-Forwarded-Host"] = host
        return apache2.OK
    end
    if status < 300 or status > 599 then
        status, fields, content = 503, {}, ""
    end
    r.status = status
    for _, name in ipairs(returned) do
        r.headers_out[name] = fields[name:lower()]
    end
    r.content_type = fields["content-type"] or "text/plain"
    r:write(content)
    return apache2.DONE
end
