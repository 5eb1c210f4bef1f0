-- Turns a database of today into one of the last version before the first release, as far as an update looks.
ALTER TABLE event ADD COLUMN id TEXT;
UPDATE event SET id = 'evt_' || lower(hex(randomblob(13)));
ALTER TABLE event DROP COLUMN salt;
DROP INDEX session_examination;
ALTER TABLE session DROP COLUMN examine_at;
DROP TABLE openid_grant;
DROP TABLE openid_client;
DROP TABLE openid_participant;
DROP TABLE sign_in_hour;
DROP TABLE server;
DROP INDEX user_pending;
DELETE FROM migration;
INSERT INTO migration (name, applied_at) VALUES ('0021-username-tries', 0), ('0022-events-by-order', 0);
UPDATE meta SET value = CAST('0020-email-index' AS BLOB) WHERE key = 'oldest-admitted';
