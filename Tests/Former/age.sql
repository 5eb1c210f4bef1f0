-- Turns a database of today into one that has the schema's first step alone.
DROP TABLE openid_grant;
DROP TABLE openid_client;
DROP TABLE openid_participant;
DROP TABLE sign_in_hour;
DROP TABLE server;
DROP TABLE authorize_request;
DROP INDEX used_attempt_binding;
DROP INDEX session_created;
DROP INDEX user_state;
DROP INDEX user_unindexed;
DROP TABLE user_word;
DROP TABLE user_group;
ALTER TABLE user DROP COLUMN indexed_name;
ALTER TABLE user DROP COLUMN indexed_groups;
DROP INDEX audit_subject;
DROP INDEX audit_type;
DELETE FROM migration WHERE name > '0023-first-release';
UPDATE meta SET value = CAST('0023-first-release' AS BLOB) WHERE key = 'oldest-admitted';
