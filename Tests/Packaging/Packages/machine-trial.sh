#!/bin/bash
# Runs on a machine that boots (machine_boot.py), as its administrator would: a first time to install, use and upgrade, a
# second time to see what a restart of the machine leaves, and to purge. Each line with FACT is read by the test.
exec 2>&1
set -x
cd /trial
export DEBIAN_FRONTEND=noninteractive
key=/trial/AuthKey_F6G7H8I9J0.p8
apple=http://127.0.0.1:9700

fact() { echo "FACT $*"; }
main_process() { systemctl show -p MainPID --value bramley; }
state() { fact "$1 state $(systemctl is-active bramley)"; }
profile() { fact "$1 profile $(cat "/proc/$(main_process)/attr/current")"; }
session() { fact "$1 session $(curl -s -b jar -o /dev/null -w '%{http_code}' http://localhost:8080/api/v1/session)"; }
denied() { fact "$1 denied $(dmesg | grep -c 'apparmor="DENIED".*profile="bramley"')"; }
start_apple() {
    systemd-run --unit=apple apple-simulator --port 9700 --server-url http://localhost:8080 --services-id com.example.web \
        --bundle-id com.example.app --team-id TEAM123456 --key-id F6G7H8I9J0 --key "$key"
    for _ in $(seq 120); do apple-simulator --alive --port 9700 && return; sleep 1; done
}

# With the command before it: whether root's file could be read.
reads() { if "$@" bramley check --config /etc/shadow 2>&1 | grep -q 'cannot be read'; then echo no; else echo yes; fi; }

first() {
    dpkg -i bramley-former.deb apple-simulator.deb
    state installed
    start_apple
    bramley init --non-interactive --public-url http://localhost:8080 --services-id com.example.web --team-id TEAM123456 \
        --private-key-file "$key" --scopes name,email --sign-up open --bundle-ids com.example.app --admin-port 9090 \
        --apple-endpoint "$apple" --apple-script-url "$apple/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"
    systemctl enable --now bramley
    state started
    profile started
    curl -s -i -c jar http://localhost:8080/login/apple -o start
    location=$(sed -n 's/^[Ll]ocation: \(.*\)\r$/\1/p' start)
    form=$(curl -s "$apple/simulator/api/authorize" -d "{\"person\":\"ada\",\"authorize_url\":\"$location\"}" |
        sed 's/.*"form":"\([^"]*\)".*/\1/; s/\\u0026/\&/g')
    curl -s -o /dev/null -b jar -c jar http://localhost:8080/apple/callback -H "Origin: $apple" \
        -H 'Sec-Fetch-Site: cross-site' -d "$form"
    session started
    fact started doctor "$(runuser -u bramley -- bramley doctor | tail -n 1 | sed 's/, [0-9]* good$//')"
    before=$(main_process)
    dpkg -i bramley.deb
    state upgraded
    profile upgraded
    [ "$before" = "$(main_process)" ] && fact upgraded process same || fact upgraded process another
    fact upgraded program "$(readlink "/proc/$(main_process)/exe")"
    session upgraded
    denied upgraded
}

second() {
    state rebooted
    profile rebooted
    session rebooted
    systemctl restart bramley
    state restarted
    session restarted
    denied restarted
    # What a service that was taken over would try, with no other limits than its profile's.
    fact free shadow "$(reads)"
    fact confined shadow "$(reads aa-exec -p bramley --)"
    install -d -o bramley /srv/backups
    runuser -u bramley -- bramley backup /srv/backups/free.db
    runuser -u bramley -- aa-exec -p bramley -- bramley backup /srv/backups/confined.db
    fact backups written "$(ls /srv/backups | tr '\n' ' ')"
    fact nightly timer "$(systemctl is-enabled bramley-backup.timer)"
    systemctl enable --now bramley-backup.timer
    systemctl start bramley-backup || systemctl status --no-pager bramley-backup
    fact nightly backups "$(cd /var/backups/bramley && stat -c '%U %a' ./*.db) $(systemctl is-active bramley-backup.timer)"
    dpkg --remove bramley
    state removed
    dpkg --purge bramley
    fact purged data "$(ls /var/lib/bramley/data/bramley.db)"
    fact purged unit "$(systemctl list-unit-files --no-legend bramley.service | wc -l)"
}

"$(sed 's/.*trial=\([a-z]*\).*/\1/' /proc/cmdline)"
fact end reached
sync
systemctl poweroff
