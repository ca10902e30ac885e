PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
CREATE TABLE "django_content_type" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app_label" varchar(100) NOT NULL, "model" varchar(100) NOT NULL);
CREATE TABLE "auth_group_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "auth_permission" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "content_type_id" integer NOT NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "codename" varchar(100) NOT NULL, "name" varchar(255) NOT NULL);
CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
CREATE TABLE "accounts_setuplink" ("id" smallint unsigned NOT NULL PRIMARY KEY CHECK ("id" >= 0), "token_hash" varchar(64) NOT NULL, "created_at" datetime NOT NULL);
CREATE TABLE "accounts_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE, "first_name" varchar(150) NOT NULL, "last_name" varchar(150) NOT NULL, "email" varchar(254) NOT NULL, "is_staff" bool NOT NULL, "is_active" bool NOT NULL, "date_joined" datetime NOT NULL);
CREATE TABLE "accounts_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "accounts_user_user_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "account_emailconfirmation" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "created" datetime NOT NULL, "sent" datetime NULL, "key" varchar(64) NOT NULL UNIQUE, "email_address_id" integer NOT NULL REFERENCES "account_emailaddress" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "account_emailaddress" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "verified" bool NOT NULL, "primary" bool NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "email" varchar(254) NOT NULL);
CREATE TABLE "django_admin_log" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "object_id" text NULL, "object_repr" varchar(200) NOT NULL, "action_flag" smallint unsigned NOT NULL CHECK ("action_flag" >= 0), "change_message" text NOT NULL, "content_type_id" integer NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "action_time" datetime NOT NULL);
CREATE TABLE "chat_mcpserver" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(30) NOT NULL UNIQUE, "url" varchar(200) NOT NULL, "header" varchar(100) NOT NULL, "secret_variable" varchar(100) NOT NULL, "timeout" real NOT NULL, "enabled" bool NOT NULL, "tools" text NOT NULL CHECK ((JSON_VALID("tools") OR "tools" IS NULL)), "listed_at" datetime NULL, "down_until" datetime NULL, "error" text NOT NULL);
CREATE TABLE "chat_project" ("id" char(32) NOT NULL PRIMARY KEY, "name" varchar(100) NOT NULL, "instructions" text NOT NULL, "model" varchar(200) NOT NULL, "context_budget" integer unsigned NULL CHECK ("context_budget" >= 0), "archived" bool NOT NULL, "created_at" datetime NOT NULL, "changed_at" datetime NOT NULL, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_provider" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(30) NOT NULL UNIQUE, "base_url" varchar(200) NOT NULL, "enabled" bool NOT NULL, "encrypted_key" text NOT NULL, "key_end" varchar(4) NOT NULL, "key_set_at" datetime NULL, "checked_at" datetime NULL, "error" text NOT NULL);
CREATE TABLE "chat_modelprofile" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(200) NOT NULL UNIQUE, "provider_id" bigint NULL REFERENCES "chat_provider" ("id") DEFERRABLE INITIALLY DEFERRED, "display_name" varchar(200) NOT NULL, "context_window" integer unsigned NOT NULL CHECK ("context_window" >= 0), "max_output" integer unsigned NOT NULL CHECK ("max_output" >= 0), "input_price" real NOT NULL, "output_price" real NOT NULL, "cache_read_price" real NOT NULL, "cache_write_price" real NOT NULL, "token_factor" real NOT NULL, "token_samples" integer unsigned NOT NULL CHECK ("token_samples" >= 0), "base_url" varchar(200) NOT NULL, "enabled" bool NOT NULL, "tools" bool NOT NULL, "show_thinking" bool NOT NULL, "web_tools" bool NOT NULL, "temperature" bool NOT NULL, "efforts" text NOT NULL CHECK ((JSON_VALID("efforts") OR "efforts" IS NULL)), "thinking_types" text NOT NULL CHECK ((JSON_VALID("thinking_types") OR "thinking_types" IS NULL)), "edited" bool NOT NULL);
CREATE TABLE "chat_conversation" ("id" char(32) NOT NULL PRIMARY KEY, "title" varchar(200) NOT NULL, "title_edited" bool NOT NULL, "model" varchar(200) NOT NULL, "system_prompt" text NOT NULL, "pinned" bool NOT NULL, "archived" bool NOT NULL, "temporary" bool NOT NULL, "deleted_at" datetime NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "compressed_context" text NULL, "compressed_at" datetime NULL, "compaction_held" bool NOT NULL, "compaction_enabled" bool NOT NULL, "context_budget" integer unsigned NULL CHECK ("context_budget" >= 0), "keep_first_message" bool NOT NULL, "compaction_settings" text NOT NULL CHECK ((JSON_VALID("compaction_settings") OR "compaction_settings" IS NULL)), "pruned_through" integer unsigned NOT NULL CHECK ("pruned_through" >= 0), "tool_settings" text NOT NULL CHECK ((JSON_VALID("tool_settings") OR "tool_settings" IS NULL)), "reply_settings" text NOT NULL CHECK ((JSON_VALID("reply_settings") OR "reply_settings" IS NULL)), "memory_text" text NOT NULL, "project_parts" text NOT NULL CHECK ((JSON_VALID("project_parts") OR "project_parts" IS NULL)), "next_number" integer unsigned NOT NULL CHECK ("next_number" >= 0), "history_version" bigint NOT NULL, "meter_valid_from" integer unsigned NOT NULL CHECK ("meter_valid_from" >= 0), "long_pause" real NULL, "pauses_covered" integer unsigned NOT NULL CHECK ("pauses_covered" >= 0), "tokens_covered" bigint unsigned NOT NULL CHECK ("tokens_covered" >= 0), "input_tokens" bigint unsigned NOT NULL CHECK ("input_tokens" >= 0), "output_tokens" bigint unsigned NOT NULL CHECK ("output_tokens" >= 0), "cost" real NOT NULL, "compactions_completed" integer unsigned NOT NULL CHECK ("compactions_completed" >= 0), "compaction_cost" real NOT NULL, "compaction_id" bigint NULL REFERENCES "chat_compaction" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NULL REFERENCES "chat_project" ("id") DEFERRABLE INITIALLY DEFERRED, "compressed_through_id" bigint NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_attachment" ("id" char(32) NOT NULL PRIMARY KEY, "kind" varchar(6) NOT NULL, "name" varchar(200) NOT NULL, "media_type" varchar(40) NOT NULL, "size" integer unsigned NOT NULL CHECK ("size" >= 0), "width" integer unsigned NOT NULL CHECK ("width" >= 0), "height" integer unsigned NOT NULL CHECK ("height" >= 0), "tokens" integer unsigned NOT NULL CHECK ("tokens" >= 0), "file" varchar(100) NOT NULL, "original" varchar(100) NOT NULL, "original_type" varchar(80) NOT NULL, "original_size" integer unsigned NOT NULL CHECK ("original_size" >= 0), "created_at" datetime NOT NULL, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NULL REFERENCES "chat_project" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_attachment_messages" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "attachment_id" char(32) NOT NULL REFERENCES "chat_attachment" ("id") DEFERRABLE INITIALLY DEFERRED, "message_id" bigint NOT NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_turn" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(10) NOT NULL, "status" varchar(12) NOT NULL, "model" varchar(200) NOT NULL, "holder" varchar(64) NOT NULL, "lease_expires" datetime NOT NULL, "stop_requested" bool NOT NULL, "focus" text NOT NULL, "compaction_wanted" bool NOT NULL, "error" text NULL CHECK ((JSON_VALID("error") OR "error" IS NULL)), "notice" varchar(20) NOT NULL, "notice_about" text NOT NULL, "created_at" datetime NOT NULL, "finished_at" datetime NULL, "conversation_id" char(32) NOT NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_memory" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "text" varchar(500) NOT NULL, "key" varchar(500) NOT NULL, "source" varchar(5) NOT NULL, "message_number" integer unsigned NULL CHECK ("message_number" >= 0), "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "deleted_at" datetime NULL, "conversation_id" char(32) NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NULL REFERENCES "chat_project" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "project_memory_key" UNIQUE ("project_id", "key"));
CREATE TABLE "chat_memoryproposal" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(8) NOT NULL, "text" varchar(500) NOT NULL, "key" varchar(500) NOT NULL, "message_number" integer unsigned NOT NULL CHECK ("message_number" >= 0), "created_at" datetime NOT NULL, "conversation_id" char(32) NOT NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "memory_id" bigint NULL REFERENCES "chat_memory" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NULL REFERENCES "chat_project" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "project_memory_proposal_key" UNIQUE ("project_id", "kind", "key"));
CREATE TABLE "chat_searchentry" ("message_id" bigint NOT NULL PRIMARY KEY REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED, "position" integer unsigned NOT NULL CHECK ("position" >= 0), "length" integer unsigned NOT NULL CHECK ("length" >= 0), "typed" bool NOT NULL, "terms" text NOT NULL, "conversation_id" char(32) NOT NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE VIRTUAL TABLE chat_fulltext USING fts5(
        terms, content='chat_searchentry', content_rowid='message_id', tokenize='ascii'
    );
CREATE TABLE "chat_callend" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "call" text NOT NULL, "shown" text NOT NULL CHECK ((JSON_VALID("shown") OR "shown" IS NULL)), "message_id" bigint NOT NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "chat_message" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "position" integer unsigned NOT NULL CHECK ("position" >= 0), "active" bool NOT NULL, "role" varchar(10) NOT NULL, "blocks" text NOT NULL CHECK ((JSON_VALID("blocks") OR "blocks" IS NULL)), "text" text NOT NULL, "pasted" text NULL CHECK ((JSON_VALID("pasted") OR "pasted" IS NULL)), "tokens" integer unsigned NOT NULL CHECK ("tokens" >= 0), "sent_in_part" bool NOT NULL, "left_out" bool NOT NULL, "calls" text NOT NULL CHECK ((JSON_VALID("calls") OR "calls" IS NULL)), "status" varchar(12) NOT NULL, "stop_reason" varchar(40) NOT NULL, "model" varchar(200) NOT NULL, "usage" text NULL CHECK ((JSON_VALID("usage") OR "usage" IS NULL)), "cost" real NOT NULL, "client_id" varchar(64) NULL, "created_at" datetime NOT NULL, "conversation_id" char(32) NOT NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "turn_id" bigint NULL REFERENCES "chat_turn" ("id") DEFERRABLE INITIALLY DEFERRED, "time_line" varchar(250) DEFAULT '' NOT NULL, "time_told" datetime NULL, "time_zone" varchar(64) DEFAULT '' NOT NULL, "cut_factor" real DEFAULT 0.0 NOT NULL, "parent_id" bigint NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "message_number" UNIQUE ("conversation_id", "number"));
CREATE TABLE "chat_compaction" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "messages" integer unsigned NOT NULL CHECK ("messages" >= 0), "trigger" varchar(12) NOT NULL, "focus" text NOT NULL, "model" varchar(200) NOT NULL, "prompt_version" varchar(40) NOT NULL, "status" varchar(10) NOT NULL, "reverted" bool NOT NULL, "lease_expires" datetime NOT NULL, "chapters" text NOT NULL CHECK ((JSON_VALID("chapters") OR "chapters" IS NULL)), "summary" text NOT NULL, "audit" text NOT NULL CHECK ((JSON_VALID("audit") OR "audit" IS NULL)), "tokens_before" integer unsigned NOT NULL CHECK ("tokens_before" >= 0), "tokens_after" integer unsigned NOT NULL CHECK ("tokens_after" >= 0), "messages_before" integer unsigned NOT NULL CHECK ("messages_before" >= 0), "messages_after" integer unsigned NOT NULL CHECK ("messages_after" >= 0), "usage" text NULL CHECK ((JSON_VALID("usage") OR "usage" IS NULL)), "cost" real NOT NULL, "worker_pid" integer unsigned NULL CHECK ("worker_pid" >= 0), "error" text NOT NULL, "created_at" datetime NOT NULL, "started_at" datetime NULL, "finished_at" datetime NULL, "conversation_id" char(32) NOT NULL REFERENCES "chat_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "first_id" bigint NOT NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED, "through_id" bigint NOT NULL REFERENCES "chat_message" ("id") DEFERRABLE INITIALLY DEFERRED, "turn_id" bigint NULL REFERENCES "chat_turn" ("id") DEFERRABLE INITIALLY DEFERRED, "method" varchar(40) NOT NULL, "method_reason" varchar(200) NOT NULL, "origin" varchar(10) DEFAULT 'compaction' NOT NULL, "previous_id" bigint NULL REFERENCES "chat_compaction" ("id") DEFERRABLE INITIALLY DEFERRED, "replaces_id" bigint NULL REFERENCES "chat_compaction" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL, "expire_date" datetime NOT NULL);
CREATE TRIGGER chat_searchentry_insert AFTER INSERT ON chat_searchentry BEGIN
        INSERT INTO chat_fulltext(rowid, terms) VALUES (new.message_id, new.terms);
    END;
CREATE TRIGGER chat_searchentry_delete AFTER DELETE ON chat_searchentry BEGIN
        INSERT INTO chat_fulltext(chat_fulltext, rowid, terms) VALUES ('delete', old.message_id, old.terms);
    END;
CREATE UNIQUE INDEX "django_content_type_app_label_model_76bd3d3b_uniq" ON "django_content_type" ("app_label", "model");
CREATE UNIQUE INDEX "auth_group_permissions_group_id_permission_id_0cd325b0_uniq" ON "auth_group_permissions" ("group_id", "permission_id");
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id");
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id");
CREATE UNIQUE INDEX "auth_permission_content_type_id_codename_01ab375a_uniq" ON "auth_permission" ("content_type_id", "codename");
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id");
CREATE UNIQUE INDEX "accounts_user_groups_user_id_group_id_59c0b32f_uniq" ON "accounts_user_groups" ("user_id", "group_id");
CREATE INDEX "accounts_user_groups_user_id_52b62117" ON "accounts_user_groups" ("user_id");
CREATE INDEX "accounts_user_groups_group_id_bd11a704" ON "accounts_user_groups" ("group_id");
CREATE UNIQUE INDEX "accounts_user_user_permissions_user_id_permission_id_2ab516c2_uniq" ON "accounts_user_user_permissions" ("user_id", "permission_id");
CREATE INDEX "accounts_user_user_permissions_user_id_e4f0a161" ON "accounts_user_user_permissions" ("user_id");
CREATE INDEX "accounts_user_user_permissions_permission_id_113bb443" ON "accounts_user_user_permissions" ("permission_id");
CREATE INDEX "account_emailconfirmation_email_address_id_5b7f8c58" ON "account_emailconfirmation" ("email_address_id");
CREATE UNIQUE INDEX "account_emailaddress_user_id_email_987c8728_uniq" ON "account_emailaddress" ("user_id", "email");
CREATE UNIQUE INDEX "unique_verified_email" ON "account_emailaddress" ("email") WHERE "verified";
CREATE INDEX "account_emailaddress_user_id_2c513194" ON "account_emailaddress" ("user_id");
CREATE INDEX "account_emailaddress_email_03be32b2" ON "account_emailaddress" ("email");
CREATE UNIQUE INDEX "unique_primary_email" ON "account_emailaddress" ("user_id", "primary") WHERE "primary";
CREATE INDEX "django_admin_log_content_type_id_c4bce8eb" ON "django_admin_log" ("content_type_id");
CREATE INDEX "django_admin_log_user_id_c564eba6" ON "django_admin_log" ("user_id");
CREATE INDEX "chat_project_owner_id_50651e31" ON "chat_project" ("owner_id");
CREATE INDEX "chat_modelprofile_provider_id_40ce4fd4" ON "chat_modelprofile" ("provider_id");
CREATE INDEX "chat_conversation_compaction_id_a278e57a" ON "chat_conversation" ("compaction_id");
CREATE INDEX "chat_conversation_owner_id_0460d4a2" ON "chat_conversation" ("owner_id");
CREATE INDEX "chat_conversation_project_id_2c2251bb" ON "chat_conversation" ("project_id");
CREATE INDEX "chat_conversation_compressed_through_id_a811c7b4" ON "chat_conversation" ("compressed_through_id");
CREATE INDEX "chat_attachment_owner_id_76e3f5e0" ON "chat_attachment" ("owner_id");
CREATE INDEX "chat_attachment_project_id_43ac4560" ON "chat_attachment" ("project_id");
CREATE UNIQUE INDEX "chat_attachment_messages_attachment_id_message_id_6ed62ddb_uniq" ON "chat_attachment_messages" ("attachment_id", "message_id");
CREATE INDEX "chat_attachment_messages_attachment_id_6b7cbe54" ON "chat_attachment_messages" ("attachment_id");
CREATE INDEX "chat_attachment_messages_message_id_4aee3d3e" ON "chat_attachment_messages" ("message_id");
CREATE INDEX "chat_turn_conversation_id_e306b789" ON "chat_turn" ("conversation_id");
CREATE UNIQUE INDEX "memory_key" ON "chat_memory" ("owner_id", "key") WHERE "project_id" IS NULL;
CREATE INDEX "chat_memory_conversation_id_0e872428" ON "chat_memory" ("conversation_id");
CREATE INDEX "chat_memory_owner_id_9400c316" ON "chat_memory" ("owner_id");
CREATE INDEX "chat_memory_project_id_6ea31051" ON "chat_memory" ("project_id");
CREATE UNIQUE INDEX "memory_proposal_key" ON "chat_memoryproposal" ("owner_id", "kind", "key") WHERE "project_id" IS NULL;
CREATE INDEX "chat_memoryproposal_conversation_id_94494938" ON "chat_memoryproposal" ("conversation_id");
CREATE INDEX "chat_memoryproposal_memory_id_6201bf10" ON "chat_memoryproposal" ("memory_id");
CREATE INDEX "chat_memoryproposal_owner_id_fa07a7d1" ON "chat_memoryproposal" ("owner_id");
CREATE INDEX "chat_memoryproposal_project_id_555fe597" ON "chat_memoryproposal" ("project_id");
CREATE INDEX "conversation_sidebar" ON "chat_conversation" ("owner_id", "archived", "updated_at" DESC);
CREATE INDEX "conversation_recent" ON "chat_conversation" ("updated_at" DESC);
CREATE INDEX "attachment_age" ON "chat_attachment" ("created_at");
CREATE INDEX "turn_lease" ON "chat_turn" ("lease_expires") WHERE "status" IN ('queued', 'compacting', 'running');
CREATE INDEX "turn_failed" ON "chat_turn" ("created_at") WHERE "status" = 'failed';
CREATE UNIQUE INDEX "one_active_turn_per_conversation" ON "chat_turn" ("conversation_id") WHERE "status" IN ('queued', 'compacting', 'running');
CREATE INDEX "search_scope" ON "chat_searchentry" ("conversation_id", "position", "message_id", "length", "typed");
CREATE INDEX "search_recent" ON "chat_searchentry" ("owner_id", "message_id");
CREATE INDEX "chat_callend_message_id_d68d884c" ON "chat_callend" ("message_id");
CREATE INDEX "conversation_temporary" ON "chat_conversation" ("updated_at") WHERE "temporary";
CREATE INDEX "conversation_deleted" ON "chat_conversation" ("deleted_at") WHERE "deleted_at" IS NOT NULL;
CREATE INDEX "turn_recent" ON "chat_turn" ("created_at");
CREATE UNIQUE INDEX "one_active_message_per_position" ON "chat_message" ("conversation_id", "position") WHERE "active";
CREATE UNIQUE INDEX "message_client_id" ON "chat_message" ("conversation_id", "client_id") WHERE "client_id" IS NOT NULL;
CREATE INDEX "chat_message_conversation_id_a1207bf4" ON "chat_message" ("conversation_id");
CREATE INDEX "chat_message_turn_id_8bb9ffd4" ON "chat_message" ("turn_id");
CREATE INDEX "chat_message_parent_id_d93c704f" ON "chat_message" ("parent_id");
CREATE INDEX "message_inactive" ON "chat_message" ("conversation_id") WHERE NOT "active";
CREATE INDEX "message_roots" ON "chat_message" ("conversation_id") WHERE "parent_id" IS NULL;
CREATE INDEX "message_active_times" ON "chat_message" ("conversation_id", "created_at") WHERE "active";
CREATE INDEX "message_spending" ON "chat_message" ("created_at", "cost") WHERE "cost" > 0.0;
CREATE UNIQUE INDEX "one_running_compaction_per_conversation" ON "chat_compaction" ("conversation_id") WHERE "status" = 'running';
CREATE INDEX "chat_compaction_conversation_id_547b2f69" ON "chat_compaction" ("conversation_id");
CREATE INDEX "chat_compaction_first_id_5394dc0c" ON "chat_compaction" ("first_id");
CREATE INDEX "chat_compaction_through_id_e36ccebd" ON "chat_compaction" ("through_id");
CREATE INDEX "chat_compaction_turn_id_8eaebf34" ON "chat_compaction" ("turn_id");
CREATE INDEX "chat_compaction_previous_id_2e190d2b" ON "chat_compaction" ("previous_id");
CREATE INDEX "chat_compaction_replaces_id_1510d3d1" ON "chat_compaction" ("replaces_id");
CREATE INDEX "compaction_history" ON "chat_compaction" ("conversation_id", "created_at" DESC);
CREATE INDEX "compaction_recent" ON "chat_compaction" ("created_at" DESC);
CREATE INDEX "django_session_expire_date_a5c62663" ON "django_session" ("expire_date");
INSERT INTO django_migrations VALUES (1,'contenttypes','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (2,'contenttypes','0002_remove_content_type_name','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (3,'auth','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (4,'auth','0002_alter_permission_name_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (5,'auth','0003_alter_user_email_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (6,'auth','0004_alter_user_username_opts','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (7,'auth','0005_alter_user_last_login_null','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (8,'auth','0006_require_contenttypes_0002','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (9,'auth','0007_alter_validators_add_error_messages','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (10,'auth','0008_alter_user_username_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (11,'auth','0009_alter_user_last_name_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (12,'auth','0010_alter_group_name_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (13,'auth','0011_update_proxy_permissions','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (14,'auth','0012_alter_user_first_name_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (15,'accounts','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (16,'account','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (17,'account','0002_email_max_length','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (18,'account','0003_alter_emailaddress_create_unique_verified_email','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (19,'account','0004_alter_emailaddress_drop_unique_email','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (20,'account','0005_emailaddress_idx_upper_email','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (21,'account','0006_emailaddress_lower','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (22,'account','0007_emailaddress_idx_email','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (23,'account','0008_emailaddress_unique_primary_email_fixup','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (24,'account','0009_emailaddress_unique_primary_email','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (25,'admin','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (26,'admin','0002_logentry_remove_auto_add','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (27,'admin','0003_logentry_add_action_flag_choices','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (28,'chat','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (29,'chat','0002_call_ends','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (30,'chat','0003_switched_off_models','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (31,'chat','0004_indexes_for_growth','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (32,'chat','0005_times','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (33,'chat','0006_cut_factor','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (34,'chat','0007_holder_origin_method','2026-11-20 09:00:00');
INSERT INTO django_migrations VALUES (35,'sessions','0001_initial','2026-11-20 09:00:00');
INSERT INTO django_content_type VALUES (1,'accounts','setuplink');
INSERT INTO django_content_type VALUES (2,'accounts','user');
INSERT INTO django_content_type VALUES (3,'chat','mcpserver');
INSERT INTO django_content_type VALUES (4,'chat','project');
INSERT INTO django_content_type VALUES (5,'chat','message');
INSERT INTO django_content_type VALUES (6,'chat','provider');
INSERT INTO django_content_type VALUES (7,'chat','modelprofile');
INSERT INTO django_content_type VALUES (8,'chat','compaction');
INSERT INTO django_content_type VALUES (9,'chat','conversation');
INSERT INTO django_content_type VALUES (10,'chat','memory');
INSERT INTO django_content_type VALUES (11,'chat','memoryproposal');
INSERT INTO django_content_type VALUES (12,'chat','searchentry');
INSERT INTO django_content_type VALUES (13,'chat','attachment');
INSERT INTO django_content_type VALUES (14,'chat','turn');
INSERT INTO django_content_type VALUES (15,'chat','callend');
INSERT INTO django_content_type VALUES (16,'admin','logentry');
INSERT INTO django_content_type VALUES (17,'auth','permission');
INSERT INTO django_content_type VALUES (18,'auth','group');
INSERT INTO django_content_type VALUES (19,'contenttypes','contenttype');
INSERT INTO django_content_type VALUES (20,'sessions','session');
INSERT INTO django_content_type VALUES (21,'account','emailaddress');
INSERT INTO django_content_type VALUES (22,'account','emailconfirmation');
INSERT INTO auth_group_permissions VALUES (1,1,36);
INSERT INTO auth_permission VALUES (1,1,'add_setuplink','Can add setup link');
INSERT INTO auth_permission VALUES (2,1,'change_setuplink','Can change setup link');
INSERT INTO auth_permission VALUES (3,1,'delete_setuplink','Can delete setup link');
INSERT INTO auth_permission VALUES (4,1,'view_setuplink','Can view setup link');
INSERT INTO auth_permission VALUES (5,2,'add_user','Can add user');
INSERT INTO auth_permission VALUES (6,2,'change_user','Can change user');
INSERT INTO auth_permission VALUES (7,2,'delete_user','Can delete user');
INSERT INTO auth_permission VALUES (8,2,'view_user','Can view user');
INSERT INTO auth_permission VALUES (9,3,'add_mcpserver','Can add MCP server');
INSERT INTO auth_permission VALUES (10,3,'change_mcpserver','Can change MCP server');
INSERT INTO auth_permission VALUES (11,3,'delete_mcpserver','Can delete MCP server');
INSERT INTO auth_permission VALUES (12,3,'view_mcpserver','Can view MCP server');
INSERT INTO auth_permission VALUES (13,4,'add_project','Can add project');
INSERT INTO auth_permission VALUES (14,4,'change_project','Can change project');
INSERT INTO auth_permission VALUES (15,4,'delete_project','Can delete project');
INSERT INTO auth_permission VALUES (16,4,'view_project','Can view project');
INSERT INTO auth_permission VALUES (17,5,'add_message','Can add message');
INSERT INTO auth_permission VALUES (18,5,'change_message','Can change message');
INSERT INTO auth_permission VALUES (19,5,'delete_message','Can delete message');
INSERT INTO auth_permission VALUES (20,5,'view_message','Can view message');
INSERT INTO auth_permission VALUES (21,6,'add_provider','Can add provider');
INSERT INTO auth_permission VALUES (22,6,'change_provider','Can change provider');
INSERT INTO auth_permission VALUES (23,6,'delete_provider','Can delete provider');
INSERT INTO auth_permission VALUES (24,6,'view_provider','Can view provider');
INSERT INTO auth_permission VALUES (25,7,'add_modelprofile','Can add model profile');
INSERT INTO auth_permission VALUES (26,7,'change_modelprofile','Can change model profile');
INSERT INTO auth_permission VALUES (27,7,'delete_modelprofile','Can delete model profile');
INSERT INTO auth_permission VALUES (28,7,'view_modelprofile','Can view model profile');
INSERT INTO auth_permission VALUES (29,8,'add_compaction','Can add compaction');
INSERT INTO auth_permission VALUES (30,8,'change_compaction','Can change compaction');
INSERT INTO auth_permission VALUES (31,8,'delete_compaction','Can delete compaction');
INSERT INTO auth_permission VALUES (32,8,'view_compaction','Can view compaction');
INSERT INTO auth_permission VALUES (33,9,'add_conversation','Can add conversation');
INSERT INTO auth_permission VALUES (34,9,'change_conversation','Can change conversation');
INSERT INTO auth_permission VALUES (35,9,'delete_conversation','Can delete conversation');
INSERT INTO auth_permission VALUES (36,9,'view_conversation','Can view conversation');
INSERT INTO auth_permission VALUES (37,10,'add_memory','Can add memory');
INSERT INTO auth_permission VALUES (38,10,'change_memory','Can change memory');
INSERT INTO auth_permission VALUES (39,10,'delete_memory','Can delete memory');
INSERT INTO auth_permission VALUES (40,10,'view_memory','Can view memory');
INSERT INTO auth_permission VALUES (41,11,'add_memoryproposal','Can add memory proposal');
INSERT INTO auth_permission VALUES (42,11,'change_memoryproposal','Can change memory proposal');
INSERT INTO auth_permission VALUES (43,11,'delete_memoryproposal','Can delete memory proposal');
INSERT INTO auth_permission VALUES (44,11,'view_memoryproposal','Can view memory proposal');
INSERT INTO auth_permission VALUES (45,12,'add_searchentry','Can add search entry');
INSERT INTO auth_permission VALUES (46,12,'change_searchentry','Can change search entry');
INSERT INTO auth_permission VALUES (47,12,'delete_searchentry','Can delete search entry');
INSERT INTO auth_permission VALUES (48,12,'view_searchentry','Can view search entry');
INSERT INTO auth_permission VALUES (49,13,'add_attachment','Can add attachment');
INSERT INTO auth_permission VALUES (50,13,'change_attachment','Can change attachment');
INSERT INTO auth_permission VALUES (51,13,'delete_attachment','Can delete attachment');
INSERT INTO auth_permission VALUES (52,13,'view_attachment','Can view attachment');
INSERT INTO auth_permission VALUES (53,14,'add_turn','Can add turn');
INSERT INTO auth_permission VALUES (54,14,'change_turn','Can change turn');
INSERT INTO auth_permission VALUES (55,14,'delete_turn','Can delete turn');
INSERT INTO auth_permission VALUES (56,14,'view_turn','Can view turn');
INSERT INTO auth_permission VALUES (57,15,'add_callend','Can add call end');
INSERT INTO auth_permission VALUES (58,15,'change_callend','Can change call end');
INSERT INTO auth_permission VALUES (59,15,'delete_callend','Can delete call end');
INSERT INTO auth_permission VALUES (60,15,'view_callend','Can view call end');
INSERT INTO auth_permission VALUES (61,16,'add_logentry','Can add log entry');
INSERT INTO auth_permission VALUES (62,16,'change_logentry','Can change log entry');
INSERT INTO auth_permission VALUES (63,16,'delete_logentry','Can delete log entry');
INSERT INTO auth_permission VALUES (64,16,'view_logentry','Can view log entry');
INSERT INTO auth_permission VALUES (65,17,'add_permission','Can add permission');
INSERT INTO auth_permission VALUES (66,17,'change_permission','Can change permission');
INSERT INTO auth_permission VALUES (67,17,'delete_permission','Can delete permission');
INSERT INTO auth_permission VALUES (68,17,'view_permission','Can view permission');
INSERT INTO auth_permission VALUES (69,18,'add_group','Can add group');
INSERT INTO auth_permission VALUES (70,18,'change_group','Can change group');
INSERT INTO auth_permission VALUES (71,18,'delete_group','Can delete group');
INSERT INTO auth_permission VALUES (72,18,'view_group','Can view group');
INSERT INTO auth_permission VALUES (73,19,'add_contenttype','Can add content type');
INSERT INTO auth_permission VALUES (74,19,'change_contenttype','Can change content type');
INSERT INTO auth_permission VALUES (75,19,'delete_contenttype','Can delete content type');
INSERT INTO auth_permission VALUES (76,19,'view_contenttype','Can view content type');
INSERT INTO auth_permission VALUES (77,20,'add_session','Can add session');
INSERT INTO auth_permission VALUES (78,20,'change_session','Can change session');
INSERT INTO auth_permission VALUES (79,20,'delete_session','Can delete session');
INSERT INTO auth_permission VALUES (80,20,'view_session','Can view session');
INSERT INTO auth_permission VALUES (81,21,'add_emailaddress','Can add email address');
INSERT INTO auth_permission VALUES (82,21,'change_emailaddress','Can change email address');
INSERT INTO auth_permission VALUES (83,21,'delete_emailaddress','Can delete email address');
INSERT INTO auth_permission VALUES (84,21,'view_emailaddress','Can view email address');
INSERT INTO auth_permission VALUES (85,22,'add_emailconfirmation','Can add email confirmation');
INSERT INTO auth_permission VALUES (86,22,'change_emailconfirmation','Can change email confirmation');
INSERT INTO auth_permission VALUES (87,22,'delete_emailconfirmation','Can delete email confirmation');
INSERT INTO auth_permission VALUES (88,22,'view_emailconfirmation','Can view email confirmation');
INSERT INTO auth_group VALUES (1,'Support');
INSERT INTO accounts_setuplink VALUES (1,'f839161355091fcd9e33f571e0b11c60217a5009f9973e769c13d7858db162cc','2026-11-20 09:03:00');
INSERT INTO accounts_user VALUES (1,'pbkdf2_sha256$1000000$released$3e8nD9ZGxZk1Mh51L6o5vRlnkTySQPPYNgWWr/hpIFA=','2026-11-20 09:00:00',1,'ada','Ada','Lovelace','ada@example.org',1,1,'2026-11-20 09:01:00');
INSERT INTO accounts_user VALUES (2,'pbkdf2_sha256$1000000$released$3e8nD9ZGxZk1Mh51L6o5vRlnkTySQPPYNgWWr/hpIFA=',NULL,0,'ben','','','',0,0,'2026-11-20 09:02:00');
INSERT INTO accounts_user_groups VALUES (1,2,1);
INSERT INTO accounts_user_user_permissions VALUES (1,2,36);
INSERT INTO account_emailconfirmation VALUES (1,'2026-11-20 09:05:00','2026-11-20 09:04:00','confirmation',1);
INSERT INTO account_emailaddress VALUES (1,1,1,1,'ada@example.org');
INSERT INTO django_admin_log VALUES (1,'2','ben',1,'[{"added": {}}]',2,1,'2026-11-20 09:06:00');
INSERT INTO chat_mcpserver VALUES (1,'library','https://library.example.org/mcp','Authorization','MCP_SECRET_LIBRARY',10.0,1,'[{"name": "find", "description": "Finds books.", "input_schema": {"type": "object"}}]','2026-11-20 09:09:00',NULL,'');
INSERT INTO chat_mcpserver VALUES (2,'archive','https://archive.example.org/mcp','Authorization','MCP_SECRET_LIBRARY',10.0,1,'[{"name": "find", "description": "Finds books.", "input_schema": {"type": "object"}}]',NULL,'2026-11-20 14:51:00','It does not answer.');
INSERT INTO chat_project VALUES ('00000000000040008000000000000001','Garden','Answer briefly.','test-model',100000,1,'2026-11-20 09:10:00','2026-11-20 09:11:00',1);
INSERT INTO chat_provider VALUES (1,'other','https://models.example.org',1,'gAAAAABrCBMdkfBoig-WySFNiNexaxmvb8N5Qa9mW3sWxdyQR1_fA90o59QbvdWce-eI-EMSPwvntVHyFJj0M5OqIF8WdlMsSNlnZqS8DoqPB9YZRAXJVNqZISoQxngt4nTsZKkFh8kaqwDraJgGHJHcm9EhMmTwow==','nows','2026-11-20 09:07:00','2026-11-20 09:08:00','The key is not valid.');
INSERT INTO chat_modelprofile VALUES (1,'test-model',NULL,'Test model',200000,8192,2.0,10.0,0.2,2.5,9.56064696816763093245e-01,7,'https://models.example.org',1,1,1,1,1,'["low", "high"]','["adaptive", "disabled"]',1);
INSERT INTO chat_modelprofile VALUES (2,'other::small',1,'Other::small',200000,8192,2.0,10.0,0.2,2.5,1.0,0,'',0,1,0,0,0,'[]','[]',0);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000003','Garden',1,'test-model','You are a gardener.',1,0,0,NULL,'2026-11-20 09:13:00','2026-11-20 09:16:00',NULL,NULL,1,0,60000,0,'{"prepare_ratio": 0}',1,'{"web": true, "mcp": ["library"], "mcp_allowed": ["library"], "off": []}','{"effort": "low", "thinking": "on", "max_tokens": 2000}','- #1 Ada likes tea.','{"instructions": "Answer briefly.", "files": [], "budget": 100000}',3,1,1,400.0,2,900,1000,200,0.004,0,0.0,NULL,1,'00000000000040008000000000000001',NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000004','Archived',0,'test-model','',0,1,0,NULL,'2026-11-20 09:17:00','2026-11-20 09:20:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,2,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000005','Temporary',0,'test-model','',0,0,1,NULL,'2026-11-20 09:21:00','2026-11-20 09:24:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,3,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000006','Deleted',0,'test-model','',0,0,0,'2026-11-20 09:25:00','2026-11-20 09:26:00','2026-11-20 09:29:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,4,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000007','Files',0,'test-model','',0,0,0,NULL,'2026-11-20 09:39:00','2026-11-20 09:46:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,5,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('0000000000004000800000000000000d','Tides',0,'test-model','',0,0,0,NULL,'2026-11-20 09:48:00','2026-11-20 09:53:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,6,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('0000000000004000800000000000000e','Ended turns',0,'test-model','',0,0,0,NULL,'2026-11-20 09:54:00','2026-11-20 10:38:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',7,7,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('0000000000004000800000000000000f','Turn that is queued',0,'test-model','',0,0,0,NULL,'2026-11-20 09:57:00','2026-11-20 09:59:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',2,8,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000010','Turn that is compacting',0,'test-model','',0,0,0,NULL,'2026-11-20 10:01:00','2026-11-20 10:03:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',2,9,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000011','Turn that is running',0,'test-model','',0,0,0,NULL,'2026-11-20 10:05:00','2026-11-20 10:33:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',3,10,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000012','auto, manual, prepared, idle',0,'test-model','',0,0,0,NULL,'2026-11-20 10:39:00','2026-11-20 10:50:00','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','2026-11-20 11:09:00',0,1,NULL,1,'{}',0,'{}','{}','','{}',11,11,11,NULL,0,72,3600,360,0.0108,4,0.0108,4,1,NULL,30);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000013','overflow, iterations, messages, tool',0,'test-model','',0,0,0,NULL,'2026-11-20 11:11:00','2026-11-20 11:22:00','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','2026-11-20 11:41:00',0,1,NULL,1,'{}',0,'{}','{}','','{}',11,12,11,NULL,0,72,3600,360,0.0108,4,0.0108,8,1,NULL,40);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000014','model_switch, edit, rebuilt, rewrite',0,'test-model','',0,0,0,NULL,'2026-11-20 11:43:00','2026-11-20 11:54:00','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','2026-11-20 12:13:00',0,1,NULL,1,'{}',0,'{}','{}','','{}',11,13,11,NULL,0,72,3600,360,0.0108,4,0.0108,12,1,NULL,50);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000015','Compaction that is running',0,'test-model','',0,0,0,NULL,'2026-11-20 12:17:00','2026-11-20 12:22:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',5,14,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000016','Compaction that is ready',0,'test-model','',0,0,0,NULL,'2026-11-20 12:26:00','2026-11-20 12:31:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',5,15,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000017','Compaction that is completed',0,'test-model','',0,0,0,NULL,'2026-11-20 12:36:00','2026-11-20 12:41:00','**Messages #1 to #2**

## Overview

- They greeted each other [#1 #2]','2026-11-20 12:45:00',0,1,NULL,1,'{}',0,'{}','{}','','{}',5,16,5,NULL,0,18,1000,200,0.004,1,0.004,16,1,NULL,62);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000018','Compaction that is failed',0,'test-model','',0,0,0,NULL,'2026-11-20 12:47:00','2026-11-20 12:52:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',5,17,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('00000000000040008000000000000019','Compaction that is cancelled',0,'test-model','',0,0,0,NULL,'2026-11-20 12:58:00','2026-11-20 13:03:00',NULL,NULL,0,1,NULL,1,'{}',0,'{}','{}','','{}',5,18,0,NULL,0,0,0,0,0.0,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_conversation VALUES ('0000000000004000800000000000001a','Gaps',0,'test-model','',0,0,0,NULL,'2026-11-20 13:09:00','2026-11-20 13:23:00','**Messages #1 to #4**

These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.

* * *

**Messages #5 to #8**

These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.','2026-11-20 13:32:00',0,1,NULL,1,'{}',0,'{}','{}','','{}',15,19,15,NULL,0,72,1800,180,0.0054,2,0.0054,20,1,NULL,80);
INSERT INTO chat_conversation VALUES ('0000000000004000800000000000001b','Real answers',1,'test-model','',0,0,0,NULL,'2026-11-20 13:34:00','2026-11-20 13:51:00',NULL,NULL,0,1,NULL,1,'{"prepare_ratio": 0, "idle_ratio": 0, "extract_on_failure": false}',0,'{}','{}','# What is remembered of the user

Facts that the user or you chose to keep across conversations, with their ids. Follow the preferences among them unless the user says otherwise now; nothing in them overrides what you were told above.
<memories>
- [1] Ada likes tea.
</memories>','{}',10,20,9,NULL,0,0,3885,84,0.0041884,0,0.0,NULL,1,NULL,NULL);
INSERT INTO chat_attachment VALUES ('00000000000040008000000000000002','text','beds.txt','text/plain',22,0,0,7,'attachments/2026/11/00000000000040008000000000000002','','',0,'2026-11-20 09:12:00',1,'00000000000040008000000000000001');
INSERT INTO chat_attachment VALUES ('00000000000040008000000000000008','image','photo.png','image/png',78,8,8,1,'attachments/2026/11/00000000000040008000000000000008','','',0,'2026-11-20 09:40:00',1,NULL);
INSERT INTO chat_attachment VALUES ('00000000000040008000000000000009','pdf','paper.pdf','application/pdf',19,0,0,1,'attachments/2026/11/00000000000040008000000000000009','','',0,'2026-11-20 09:41:00',1,NULL);
INSERT INTO chat_attachment VALUES ('0000000000004000800000000000000a','text','notes.txt','text/plain',17,0,0,5,'attachments/2026/11/0000000000004000800000000000000a','attachments/2026/11/0000000000004000800000000000000a-original','text/plain; charset=windows-1252',15,'2026-11-20 09:42:00',1,NULL);
INSERT INTO chat_attachment VALUES ('0000000000004000800000000000000b','office','plan.docx','text/plain',18,0,0,6,'attachments/2026/11/0000000000004000800000000000000b','attachments/2026/11/0000000000004000800000000000000b-original','application/vnd.openxmlformats-officedocument.wordprocessingml.document',989,'2026-11-20 09:43:00',1,NULL);
INSERT INTO chat_attachment VALUES ('0000000000004000800000000000000c','text','unsent.txt','text/plain',13,0,0,4,'attachments/2026/11/0000000000004000800000000000000c','','',0,'2026-11-20 09:47:00',1,NULL);
INSERT INTO chat_attachment_messages VALUES (1,'00000000000040008000000000000008',9);
INSERT INTO chat_attachment_messages VALUES (2,'00000000000040008000000000000009',9);
INSERT INTO chat_attachment_messages VALUES (3,'0000000000004000800000000000000a',9);
INSERT INTO chat_attachment_messages VALUES (4,'0000000000004000800000000000000b',9);
INSERT INTO chat_turn VALUES (1,'answer','completed','','test-process','2026-11-20 13:53:00',0,'',0,NULL,'','','2026-11-20 09:50:00','2026-11-20 09:49:00','0000000000004000800000000000000d');
INSERT INTO chat_turn VALUES (2,'answer','queued','other::small','test-process','2026-11-20 13:54:00',1,'',0,NULL,'','','2026-11-20 10:00:00',NULL,'0000000000004000800000000000000f');
INSERT INTO chat_turn VALUES (3,'answer','compacting','other::small','test-process','2026-11-20 13:55:00',1,'',0,NULL,'','','2026-11-20 10:04:00',NULL,'00000000000040008000000000000010');
INSERT INTO chat_turn VALUES (4,'answer','running','other::small','test-process','2026-11-20 13:56:00',1,'',0,NULL,'','','2026-11-20 10:07:00',NULL,'00000000000040008000000000000011');
INSERT INTO chat_turn VALUES (5,'answer','completed','','test-process','2026-11-20 13:57:00',0,'',0,'{"code": "overloaded", "message": "Overloaded", "retryable": true, "retry_after": 5}','','','2026-11-20 10:09:00','2026-11-20 10:08:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (6,'answer','failed','','test-process','2026-11-20 13:58:00',0,'',0,'{"code": "overloaded", "message": "Overloaded", "retryable": true, "retry_after": 5}','','','2026-11-20 10:11:00','2026-11-20 10:10:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (7,'answer','cancelled','','test-process','2026-11-20 13:59:00',0,'',0,'{"code": "overloaded", "message": "Overloaded", "retryable": true, "retry_after": 5}','','','2026-11-20 10:13:00','2026-11-20 10:12:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (8,'answer','interrupted','','test-process','2026-11-20 14:00:00',0,'',0,'{"code": "overloaded", "message": "Overloaded", "retryable": true, "retry_after": 5}','','','2026-11-20 10:15:00','2026-11-20 10:14:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (9,'answer','completed','','test-process','2026-11-20 14:01:00',0,'',1,NULL,'trimmed','library','2026-11-20 10:17:00','2026-11-20 10:16:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (10,'answer','completed','','test-process','2026-11-20 14:02:00',0,'',1,NULL,'shortened','library','2026-11-20 10:19:00','2026-11-20 10:18:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (11,'answer','completed','','test-process','2026-11-20 14:03:00',0,'',1,NULL,'cut','library','2026-11-20 10:21:00','2026-11-20 10:20:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (12,'answer','completed','','test-process','2026-11-20 14:04:00',0,'',1,NULL,'last_round','library','2026-11-20 10:23:00','2026-11-20 10:22:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (13,'answer','completed','','test-process','2026-11-20 14:05:00',0,'',1,NULL,'compaction_paused','library','2026-11-20 10:25:00','2026-11-20 10:24:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (14,'answer','completed','','test-process','2026-11-20 14:06:00',0,'',1,NULL,'servers_left_out','library','2026-11-20 10:27:00','2026-11-20 10:26:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (15,'answer','completed','','test-process','2026-11-20 14:07:00',0,'',1,NULL,'unstored','library','2026-11-20 10:29:00','2026-11-20 10:28:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (16,'answer','completed','','test-process','2026-11-20 14:08:00',0,'',1,NULL,'stored_late','library','2026-11-20 10:31:00','2026-11-20 10:30:00','0000000000004000800000000000000e');
INSERT INTO chat_turn VALUES (17,'compact','completed','','test-process','2026-11-20 14:09:00',0,'tea',0,NULL,'','','2026-11-20 10:51:00','2026-11-20 10:55:00','00000000000040008000000000000012');
INSERT INTO chat_turn VALUES (18,'compact','completed','','test-process','2026-11-20 14:11:00',0,'tea',0,NULL,'','','2026-11-20 10:56:00','2026-11-20 11:00:00','00000000000040008000000000000012');
INSERT INTO chat_turn VALUES (19,'compact','completed','','test-process','2026-11-20 14:13:00',0,'tea',0,NULL,'','','2026-11-20 11:01:00','2026-11-20 11:05:00','00000000000040008000000000000012');
INSERT INTO chat_turn VALUES (20,'compact','completed','','test-process','2026-11-20 14:15:00',0,'tea',0,NULL,'','','2026-11-20 11:06:00','2026-11-20 11:10:00','00000000000040008000000000000012');
INSERT INTO chat_turn VALUES (21,'compact','completed','','test-process','2026-11-20 14:17:00',0,'tea',0,NULL,'','','2026-11-20 11:23:00','2026-11-20 11:27:00','00000000000040008000000000000013');
INSERT INTO chat_turn VALUES (22,'compact','completed','','test-process','2026-11-20 14:19:00',0,'tea',0,NULL,'','','2026-11-20 11:28:00','2026-11-20 11:32:00','00000000000040008000000000000013');
INSERT INTO chat_turn VALUES (23,'compact','completed','','test-process','2026-11-20 14:21:00',0,'tea',0,NULL,'','','2026-11-20 11:33:00','2026-11-20 11:37:00','00000000000040008000000000000013');
INSERT INTO chat_turn VALUES (24,'compact','completed','','test-process','2026-11-20 14:23:00',0,'tea',0,NULL,'','','2026-11-20 11:38:00','2026-11-20 11:42:00','00000000000040008000000000000013');
INSERT INTO chat_turn VALUES (25,'compact','completed','','test-process','2026-11-20 14:25:00',0,'tea',0,NULL,'','','2026-11-20 11:55:00','2026-11-20 11:59:00','00000000000040008000000000000014');
INSERT INTO chat_turn VALUES (26,'compact','completed','','test-process','2026-11-20 14:27:00',0,'tea',0,NULL,'','','2026-11-20 12:00:00','2026-11-20 12:04:00','00000000000040008000000000000014');
INSERT INTO chat_turn VALUES (27,'compact','completed','','test-process','2026-11-20 14:29:00',0,'tea',0,NULL,'','','2026-11-20 12:05:00','2026-11-20 12:09:00','00000000000040008000000000000014');
INSERT INTO chat_turn VALUES (28,'compact','completed','','test-process','2026-11-20 14:31:00',0,'tea',0,NULL,'','','2026-11-20 12:10:00','2026-11-20 12:14:00','00000000000040008000000000000014');
INSERT INTO chat_turn VALUES (29,'compact','compacting','','test-process','2026-11-20 14:34:00',0,'',0,NULL,'','','2026-11-20 12:23:00',NULL,'00000000000040008000000000000015');
INSERT INTO chat_turn VALUES (30,'compact','completed','','test-process','2026-11-20 14:36:00',0,'',0,NULL,'','','2026-11-20 12:32:00','2026-11-20 12:35:00','00000000000040008000000000000016');
INSERT INTO chat_turn VALUES (31,'compact','completed','','test-process','2026-11-20 14:38:00',0,'',0,NULL,'','','2026-11-20 12:42:00','2026-11-20 12:46:00','00000000000040008000000000000017');
INSERT INTO chat_turn VALUES (32,'compact','failed','','test-process','2026-11-20 14:40:00',0,'',0,NULL,'','','2026-11-20 12:53:00','2026-11-20 12:57:00','00000000000040008000000000000018');
INSERT INTO chat_turn VALUES (33,'compact','cancelled','','test-process','2026-11-20 14:42:00',0,'',0,NULL,'','','2026-11-20 13:04:00','2026-11-20 13:08:00','00000000000040008000000000000019');
INSERT INTO chat_turn VALUES (34,'compact','completed','','test-process','2026-11-20 14:44:00',0,'',0,NULL,'','','2026-11-20 13:24:00','2026-11-20 13:28:00','0000000000004000800000000000001a');
INSERT INTO chat_turn VALUES (35,'compact','completed','','test-process','2026-11-20 14:46:00',0,'',0,NULL,'','','2026-11-20 13:29:00','2026-11-20 13:33:00','0000000000004000800000000000001a');
INSERT INTO chat_turn VALUES (36,'answer','completed','','test-process','2026-11-20 14:48:00',0,'',0,NULL,'','','2026-11-20 13:37:00','2026-11-20 13:43:00','0000000000004000800000000000001b');
INSERT INTO chat_turn VALUES (37,'answer','completed','','test-process','2026-11-20 14:49:00',0,'',0,NULL,'','','2026-11-20 13:44:00','2026-11-20 13:48:00','0000000000004000800000000000001b');
INSERT INTO chat_turn VALUES (38,'answer','completed','','test-process','2026-11-20 14:50:00',0,'',0,NULL,'','','2026-11-20 13:49:00','2026-11-20 13:52:00','0000000000004000800000000000001b');
INSERT INTO chat_memory VALUES (1,'Ada likes tea.','ada likes tea','user',NULL,'2026-11-20 09:30:00','2026-11-20 09:31:00',NULL,NULL,1,NULL);
INSERT INTO chat_memory VALUES (2,'There are four beds.','there are four beds','agent',1,'2026-11-20 09:32:00','2026-11-20 09:33:00',NULL,'00000000000040008000000000000003',1,'00000000000040008000000000000001');
INSERT INTO chat_memory VALUES (3,'Ada is in Oslo.','ada is in oslo','user',NULL,'2026-11-20 09:34:00','2026-11-20 09:35:00','2026-11-20 09:36:00',NULL,1,NULL);
INSERT INTO chat_memoryproposal VALUES (1,'remember','The tomatoes are ripe.','the tomatoes are ripe',1,'2026-11-20 09:37:00','00000000000040008000000000000003',NULL,1,'00000000000040008000000000000001');
INSERT INTO chat_memoryproposal VALUES (2,'forget','Ada likes tea.','ada likes tea',1,'2026-11-20 09:38:00','00000000000040008000000000000003',1,1,NULL);
INSERT INTO chat_searchentry VALUES (1,0,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhere u1xare u1xthe u1xtomato','00000000000040008000000000000003',1);
INSERT INTO chat_searchentry VALUES (2,1,4,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xin u1xthe u1xfour u1xbed','00000000000040008000000000000003',1);
INSERT INTO chat_searchentry VALUES (3,0,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhere u1xare u1xthe u1xtomato','00000000000040008000000000000004',1);
INSERT INTO chat_searchentry VALUES (4,1,4,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xin u1xthe u1xfour u1xbed','00000000000040008000000000000004',1);
INSERT INTO chat_searchentry VALUES (5,0,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhere u1xare u1xthe u1xtomato','00000000000040008000000000000005',1);
INSERT INTO chat_searchentry VALUES (6,1,4,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xin u1xthe u1xfour u1xbed','00000000000040008000000000000005',1);
INSERT INTO chat_searchentry VALUES (7,0,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhere u1xare u1xthe u1xtomato','00000000000040008000000000000006',1);
INSERT INTO chat_searchentry VALUES (8,1,4,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xin u1xthe u1xfour u1xbed','00000000000040008000000000000006',1);
INSERT INTO chat_searchentry VALUES (9,0,31,1,'u1xz2ez u1xz3az u1xz3fz u1xz5bz u1xz5dz u1x26 u1xnovemb u1x2026 u1xattach u1ximag u1xphoto u1xpng u1xattach u1xdocument u1xpaper u1xpdf u1xattach u1xdocument u1xnote u1xtxt u1xattach u1xdocument u1xplan u1xdocx u1xwhat u1xis u1xin u1xthese u1xnote u1xtxt u1xgruss u1xvom u1xfjord u1xplan u1xdocx u1xbuy u1xtea u1xon u1xfriday','00000000000040008000000000000007',1);
INSERT INTO chat_searchentry VALUES (10,1,4,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xa u1xplan u1xfor u1xtea','00000000000040008000000000000007',1);
INSERT INTO chat_searchentry VALUES (11,0,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhen u1xis u1xhigh u1xwater','0000000000004000800000000000000d',1);
INSERT INTO chat_searchentry VALUES (12,1,20,0,'u1xz22z u1xz22zz3az u1xz22zz7dz u1xz2ez u1xz2fz u1xz2fzz2fz u1xz3az u1xz3azz2fz u1xz5bz u1xz5dz u1xz5fz u1xz7bz u1xz7bzz22z u1xz7dz u1xz7dzz5dz u1x26 u1xnovemb u1x2026 u1xi u1xlook u1xit u1xup u1xweb u1xsearch u1xqueri u1xtide u1xof u1xbergen u1xtide u1xhttps u1xexampl u1xorg u1xtide u1xhigh u1xwater u1xis u1xat u1xnoon','0000000000004000800000000000000d',1);
INSERT INTO chat_searchentry VALUES (13,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (14,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (15,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','0000000000004000800000000000000f',1);
INSERT INTO chat_searchentry VALUES (16,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000010',1);
INSERT INTO chat_searchentry VALUES (17,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000011',1);
INSERT INTO chat_searchentry VALUES (19,2,2,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xgo u1xon','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (20,3,3,0,'u1x26 u1xnovemb u1x2026 u1xhalf u1xan u1xan','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (21,4,2,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xgo u1xon','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (22,5,3,0,'u1x26 u1xnovemb u1x2026 u1xhalf u1xan u1xan','0000000000004000800000000000000e',1);
INSERT INTO chat_searchentry VALUES (23,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (24,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (25,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (26,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (27,4,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x5','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (28,5,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x6','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (29,6,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x7','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (30,7,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x8','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (31,8,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x9','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (32,9,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x10','00000000000040008000000000000012',1);
INSERT INTO chat_searchentry VALUES (33,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (34,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (35,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (36,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (37,4,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x5','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (38,5,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x6','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (39,6,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x7','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (40,7,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x8','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (41,8,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x9','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (42,9,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x10','00000000000040008000000000000013',1);
INSERT INTO chat_searchentry VALUES (43,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (44,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (45,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (46,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (47,4,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x5','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (48,5,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x6','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (49,6,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x7','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (50,7,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x8','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (51,8,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x9','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (52,9,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x10','00000000000040008000000000000014',1);
INSERT INTO chat_searchentry VALUES (53,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000015',1);
INSERT INTO chat_searchentry VALUES (54,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000015',1);
INSERT INTO chat_searchentry VALUES (55,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000015',1);
INSERT INTO chat_searchentry VALUES (56,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000015',1);
INSERT INTO chat_searchentry VALUES (57,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000016',1);
INSERT INTO chat_searchentry VALUES (58,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000016',1);
INSERT INTO chat_searchentry VALUES (59,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000016',1);
INSERT INTO chat_searchentry VALUES (60,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000016',1);
INSERT INTO chat_searchentry VALUES (61,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000017',1);
INSERT INTO chat_searchentry VALUES (62,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000017',1);
INSERT INTO chat_searchentry VALUES (63,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000017',1);
INSERT INTO chat_searchentry VALUES (64,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000017',1);
INSERT INTO chat_searchentry VALUES (65,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000018',1);
INSERT INTO chat_searchentry VALUES (66,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000018',1);
INSERT INTO chat_searchentry VALUES (67,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000018',1);
INSERT INTO chat_searchentry VALUES (68,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000018',1);
INSERT INTO chat_searchentry VALUES (69,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','00000000000040008000000000000019',1);
INSERT INTO chat_searchentry VALUES (70,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','00000000000040008000000000000019',1);
INSERT INTO chat_searchentry VALUES (71,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','00000000000040008000000000000019',1);
INSERT INTO chat_searchentry VALUES (72,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','00000000000040008000000000000019',1);
INSERT INTO chat_searchentry VALUES (73,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (75,2,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x3','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (76,3,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x4','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (77,4,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x5','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (78,5,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x6','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (79,6,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x7','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (80,7,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x8','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (81,8,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x9','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (82,9,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x10','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (83,10,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x11','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (84,11,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x12','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (85,12,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x13','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (86,13,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x14','0000000000004000800000000000001a',1);
INSERT INTO chat_searchentry VALUES (87,0,3,1,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x1','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (88,1,3,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xmessag u1xnumber u1x2','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (89,2,7,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhat u1xdid u1xwe u1xsay u1xof u1xthe u1xgarden','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (90,3,2,0,'u1xz22z u1xz22zz3az u1xz22zz7dz u1xz2cz u1xz2ez u1xz3az u1xz5bz u1xz5dz u1xz5fz u1xz7bz u1xz7bzz22z u1xz7dz u1xz7dzz5dz u1x26 u1xnovemb u1x2026 u1xi u1xlook','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (91,4,0,0,'u1xz23z u1xz2cz u1xz2dz u1xz2ez u1xz3az u1xz5bz u1xz5bzz23z u1xz5dz','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (92,5,2,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xfour u1xbed','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (93,2,4,1,'u1xz3fz u1x26 u1xnovemb u1x2026 u1xwhat u1xof u1xthe u1xbed','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (94,3,2,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xfive u1xbed','0000000000004000800000000000001b',1);
INSERT INTO chat_searchentry VALUES (95,3,2,0,'u1xz2ez u1x26 u1xnovemb u1x2026 u1xsix u1xbed','0000000000004000800000000000001b',1);
INSERT INTO chat_callend VALUES (1,'toolu_1','{"text": "Tea", "seconds": 0.1}',18);
INSERT INTO chat_message VALUES (1,1,0,1,'user','[{"type": "text", "text": "Where are the tomatoes?"}]','Where are the tomatoes?',NULL,11,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:14:00','00000000000040008000000000000003',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (2,2,1,1,'assistant','[{"type": "text", "text": "In the four beds."}]','In the four beds.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:15:00','00000000000040008000000000000003',NULL,'',NULL,'',0.0,1);
INSERT INTO chat_message VALUES (3,1,0,1,'user','[{"type": "text", "text": "Where are the tomatoes?"}]','Where are the tomatoes?',NULL,11,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:18:00','00000000000040008000000000000004',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (4,2,1,1,'assistant','[{"type": "text", "text": "In the four beds."}]','In the four beds.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:19:00','00000000000040008000000000000004',NULL,'',NULL,'',0.0,3);
INSERT INTO chat_message VALUES (5,1,0,1,'user','[{"type": "text", "text": "Where are the tomatoes?"}]','Where are the tomatoes?',NULL,11,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:22:00','00000000000040008000000000000005',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (6,2,1,1,'assistant','[{"type": "text", "text": "In the four beds."}]','In the four beds.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:23:00','00000000000040008000000000000005',NULL,'',NULL,'',0.0,5);
INSERT INTO chat_message VALUES (7,1,0,1,'user','[{"type": "text", "text": "Where are the tomatoes?"}]','Where are the tomatoes?',NULL,11,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:27:00','00000000000040008000000000000006',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (8,2,1,1,'assistant','[{"type": "text", "text": "In the four beds."}]','In the four beds.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:28:00','00000000000040008000000000000006',NULL,'',NULL,'',0.0,7);
INSERT INTO chat_message VALUES (9,1,0,1,'user','[{"type": "image", "title": "photo.png", "source": {"type": "attachment", "id": "00000000-0000-4000-8000-000000000008", "media_type": "image/png", "bytes": 78, "tokens": 1}}, {"type": "document", "title": "paper.pdf", "source": {"type": "attachment", "id": "00000000-0000-4000-8000-000000000009", "media_type": "application/pdf", "bytes": 19, "tokens": 1}}, {"type": "document", "title": "notes.txt", "source": {"type": "attachment", "id": "00000000-0000-4000-8000-00000000000a", "media_type": "text/plain", "bytes": 17, "tokens": 5, "original_bytes": 15, "encoding": "windows-1252"}}, {"type": "document", "title": "plan.docx", "source": {"type": "attachment", "id": "00000000-0000-4000-8000-00000000000b", "media_type": "text/plain", "bytes": 18, "tokens": 6, "original_bytes": 989}}, {"type": "text", "text": "What is in these?"}]','[Attached image: photo.png]

[Attached document: paper.pdf]

[Attached document: notes.txt]

[Attached document: plan.docx]

What is in these?',NULL,22,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:44:00','00000000000040008000000000000007',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (10,2,1,1,'assistant','[{"type": "text", "text": "A plan for tea."}]','A plan for tea.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:45:00','00000000000040008000000000000007',NULL,'',NULL,'',0.0,9);
INSERT INTO chat_message VALUES (11,1,0,1,'user','[{"type": "text", "text": "When is high water?"}]','When is high water?','[[0, 4]]',10,1,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:51:00','0000000000004000800000000000000d',1,'',NULL,'',1.5,NULL);
INSERT INTO chat_message VALUES (12,2,1,1,'assistant','[{"type": "thinking", "thinking": "I look it up.", "signature": "c2lnbmF0dXJl"}, {"type": "redacted_thinking", "data": "aGlkZGVu"}, {"type": "text", "text": "I look it up."}, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides of Bergen"}}, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://example.org/tides", "title": "Tides", "encrypted_content": "ZW5jcnlwdGVk", "page_age": null}]}, {"type": "text", "text": "High water is at noon.", "citations": [{"type": "web_search_result_location", "url": "https://example.org/tides", "title": "Tides", "encrypted_index": "aW5kZXg=", "cited_text": "High water: 12:04"}]}]','I look it up.

[web_search {"query": "tides of Bergen"}]

Tides https://example.org/tides

High water is at noon.',NULL,108,0,0,'{}','complete','end_turn','test-model','{"input_tokens": 900, "output_tokens": 60, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50, "ephemeral_1h_input_tokens": 0}',0.003,NULL,'2026-11-20 09:52:00','0000000000004000800000000000000d',1,'',NULL,'',0.0,11);
INSERT INTO chat_message VALUES (13,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:55:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (14,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 09:56:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,13);
INSERT INTO chat_message VALUES (15,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 09:58:00','0000000000004000800000000000000f',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (16,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:02:00','00000000000040008000000000000010',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (17,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:06:00','00000000000040008000000000000011',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (18,2,1,1,'assistant','[{"type": "tool_use", "id": "toolu_1", "name": "recall", "input": {"query": "tea"}}]','[recall {"query": "tea"}]',NULL,28,0,0,'{}','streaming','','test-model',NULL,0.0,NULL,'2026-11-20 10:32:00','00000000000040008000000000000011',4,'',NULL,'',0.0,17);
INSERT INTO chat_message VALUES (19,3,2,1,'user','[{"type": "text", "text": "Go on."}]','Go on.',NULL,6,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:34:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,14);
INSERT INTO chat_message VALUES (20,4,3,1,'assistant','[{"type": "text", "text": "Half an ans"}]','Half an ans',NULL,8,0,0,'{}','interrupted','','test-model',NULL,0.0,NULL,'2026-11-20 10:35:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,19);
INSERT INTO chat_message VALUES (21,5,4,1,'user','[{"type": "text", "text": "Go on."}]','Go on.',NULL,6,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:36:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,20);
INSERT INTO chat_message VALUES (22,6,5,1,'assistant','[{"type": "text", "text": "Half an ans"}]','Half an ans',NULL,8,0,0,'{}','failed','','test-model',NULL,0.0,NULL,'2026-11-20 10:37:00','0000000000004000800000000000000e',NULL,'',NULL,'',0.0,21);
INSERT INTO chat_message VALUES (23,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:40:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (24,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 10:41:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,23);
INSERT INTO chat_message VALUES (25,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:42:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,24);
INSERT INTO chat_message VALUES (26,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 10:43:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,25);
INSERT INTO chat_message VALUES (27,5,4,1,'user','[{"type": "text", "text": "Message number 5."}]','Message number 5.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:44:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,26);
INSERT INTO chat_message VALUES (28,6,5,1,'assistant','[{"type": "text", "text": "Message number 6."}]','Message number 6.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 10:45:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,27);
INSERT INTO chat_message VALUES (29,7,6,1,'user','[{"type": "text", "text": "Message number 7."}]','Message number 7.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:46:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,28);
INSERT INTO chat_message VALUES (30,8,7,1,'assistant','[{"type": "text", "text": "Message number 8."}]','Message number 8.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 10:47:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,29);
INSERT INTO chat_message VALUES (31,9,8,1,'user','[{"type": "text", "text": "Message number 9."}]','Message number 9.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 10:48:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,30);
INSERT INTO chat_message VALUES (32,10,9,1,'assistant','[{"type": "text", "text": "Message number 10."}]','Message number 10.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 10:49:00','00000000000040008000000000000012',NULL,'',NULL,'',0.0,31);
INSERT INTO chat_message VALUES (33,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:12:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (34,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:13:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,33);
INSERT INTO chat_message VALUES (35,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:14:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,34);
INSERT INTO chat_message VALUES (36,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:15:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,35);
INSERT INTO chat_message VALUES (37,5,4,1,'user','[{"type": "text", "text": "Message number 5."}]','Message number 5.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:16:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,36);
INSERT INTO chat_message VALUES (38,6,5,1,'assistant','[{"type": "text", "text": "Message number 6."}]','Message number 6.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:17:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,37);
INSERT INTO chat_message VALUES (39,7,6,1,'user','[{"type": "text", "text": "Message number 7."}]','Message number 7.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:18:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,38);
INSERT INTO chat_message VALUES (40,8,7,1,'assistant','[{"type": "text", "text": "Message number 8."}]','Message number 8.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:19:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,39);
INSERT INTO chat_message VALUES (41,9,8,1,'user','[{"type": "text", "text": "Message number 9."}]','Message number 9.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:20:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,40);
INSERT INTO chat_message VALUES (42,10,9,1,'assistant','[{"type": "text", "text": "Message number 10."}]','Message number 10.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:21:00','00000000000040008000000000000013',NULL,'',NULL,'',0.0,41);
INSERT INTO chat_message VALUES (43,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:44:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (44,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:45:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,43);
INSERT INTO chat_message VALUES (45,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:46:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,44);
INSERT INTO chat_message VALUES (46,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:47:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,45);
INSERT INTO chat_message VALUES (47,5,4,1,'user','[{"type": "text", "text": "Message number 5."}]','Message number 5.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:48:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,46);
INSERT INTO chat_message VALUES (48,6,5,1,'assistant','[{"type": "text", "text": "Message number 6."}]','Message number 6.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:49:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,47);
INSERT INTO chat_message VALUES (49,7,6,1,'user','[{"type": "text", "text": "Message number 7."}]','Message number 7.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:50:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,48);
INSERT INTO chat_message VALUES (50,8,7,1,'assistant','[{"type": "text", "text": "Message number 8."}]','Message number 8.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:51:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,49);
INSERT INTO chat_message VALUES (51,9,8,1,'user','[{"type": "text", "text": "Message number 9."}]','Message number 9.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 11:52:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,50);
INSERT INTO chat_message VALUES (52,10,9,1,'assistant','[{"type": "text", "text": "Message number 10."}]','Message number 10.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 11:53:00','00000000000040008000000000000014',NULL,'',NULL,'',0.0,51);
INSERT INTO chat_message VALUES (53,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:18:00','00000000000040008000000000000015',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (54,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:19:00','00000000000040008000000000000015',NULL,'',NULL,'',0.0,53);
INSERT INTO chat_message VALUES (55,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:20:00','00000000000040008000000000000015',NULL,'',NULL,'',0.0,54);
INSERT INTO chat_message VALUES (56,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:21:00','00000000000040008000000000000015',NULL,'',NULL,'',0.0,55);
INSERT INTO chat_message VALUES (57,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:27:00','00000000000040008000000000000016',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (58,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:28:00','00000000000040008000000000000016',NULL,'',NULL,'',0.0,57);
INSERT INTO chat_message VALUES (59,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:29:00','00000000000040008000000000000016',NULL,'',NULL,'',0.0,58);
INSERT INTO chat_message VALUES (60,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:30:00','00000000000040008000000000000016',NULL,'',NULL,'',0.0,59);
INSERT INTO chat_message VALUES (61,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:37:00','00000000000040008000000000000017',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (62,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:38:00','00000000000040008000000000000017',NULL,'',NULL,'',0.0,61);
INSERT INTO chat_message VALUES (63,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:39:00','00000000000040008000000000000017',NULL,'',NULL,'',0.0,62);
INSERT INTO chat_message VALUES (64,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:40:00','00000000000040008000000000000017',NULL,'',NULL,'',0.0,63);
INSERT INTO chat_message VALUES (65,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:48:00','00000000000040008000000000000018',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (66,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:49:00','00000000000040008000000000000018',NULL,'',NULL,'',0.0,65);
INSERT INTO chat_message VALUES (67,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:50:00','00000000000040008000000000000018',NULL,'',NULL,'',0.0,66);
INSERT INTO chat_message VALUES (68,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 12:51:00','00000000000040008000000000000018',NULL,'',NULL,'',0.0,67);
INSERT INTO chat_message VALUES (69,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 12:59:00','00000000000040008000000000000019',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (70,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:00:00','00000000000040008000000000000019',NULL,'',NULL,'',0.0,69);
INSERT INTO chat_message VALUES (71,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:01:00','00000000000040008000000000000019',NULL,'',NULL,'',0.0,70);
INSERT INTO chat_message VALUES (72,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:02:00','00000000000040008000000000000019',NULL,'',NULL,'',0.0,71);
INSERT INTO chat_message VALUES (73,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:10:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (75,3,2,1,'user','[{"type": "text", "text": "Message number 3."}]','Message number 3.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:11:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,73);
INSERT INTO chat_message VALUES (76,4,3,1,'assistant','[{"type": "text", "text": "Message number 4."}]','Message number 4.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:12:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,75);
INSERT INTO chat_message VALUES (77,5,4,1,'user','[{"type": "text", "text": "Message number 5."}]','Message number 5.',NULL,9,0,1,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:13:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,76);
INSERT INTO chat_message VALUES (78,6,5,1,'assistant','[{"type": "text", "text": "Message number 6."}]','Message number 6.',NULL,9,0,1,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:14:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,77);
INSERT INTO chat_message VALUES (79,7,6,1,'user','[{"type": "text", "text": "Message number 7."}]','Message number 7.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:15:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,78);
INSERT INTO chat_message VALUES (80,8,7,1,'assistant','[{"type": "text", "text": "Message number 8."}]','Message number 8.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:16:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,79);
INSERT INTO chat_message VALUES (81,9,8,1,'user','[{"type": "text", "text": "Message number 9."}]','Message number 9.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:17:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,80);
INSERT INTO chat_message VALUES (82,10,9,1,'assistant','[{"type": "text", "text": "Message number 10."}]','Message number 10.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:18:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,81);
INSERT INTO chat_message VALUES (83,11,10,1,'user','[{"type": "text", "text": "Message number 11."}]','Message number 11.',NULL,10,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:19:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,82);
INSERT INTO chat_message VALUES (84,12,11,1,'assistant','[{"type": "text", "text": "Message number 12."}]','Message number 12.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:20:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,83);
INSERT INTO chat_message VALUES (85,13,12,1,'user','[{"type": "text", "text": "Message number 13."}]','Message number 13.',NULL,10,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:21:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,84);
INSERT INTO chat_message VALUES (86,14,13,1,'assistant','[{"type": "text", "text": "Message number 14."}]','Message number 14.',NULL,10,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:22:00','0000000000004000800000000000001a',NULL,'',NULL,'',0.0,85);
INSERT INTO chat_message VALUES (87,1,0,1,'user','[{"type": "text", "text": "Message number 1."}]','Message number 1.',NULL,9,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:35:00','0000000000004000800000000000001b',NULL,'',NULL,'',0.0,NULL);
INSERT INTO chat_message VALUES (88,2,1,1,'assistant','[{"type": "text", "text": "Message number 2."}]','Message number 2.',NULL,9,0,0,'{}','complete','','test-model',NULL,0.0,NULL,'2026-11-20 13:36:00','0000000000004000800000000000001b',NULL,'',NULL,'',0.0,87);
INSERT INTO chat_message VALUES (89,3,2,0,'user','[{"type": "text", "text": "What did we say of the garden?"}]','What did we say of the garden?',NULL,28,0,0,'{}','complete','','',NULL,0.0,'said-0','2026-11-20 13:39:00','0000000000004000800000000000001b',36,'[Thursday, 26 November 2026, 12:08, Europe/Berlin]','2026-11-20 13:38:00','Europe/Berlin',0.0,88);
INSERT INTO chat_message VALUES (90,4,3,0,'assistant','[{"type": "thinking", "thinking": "They talked of it.", "signature": "sig-e2eac8823211ff5aa5b86be31baf1b43bb91644f"}, {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_search", "name": "search_history", "input": {"query": "Garden"}}, {"type": "tool_use", "id": "toolu_read", "name": "read_messages", "input": {"from": 99, "to": 99}}]','I look.

[search_history {"query": "Garden"}]

[read_messages {"from": 99, "to": 99}]',NULL,62,0,0,'{"toolu_search": {"text": "[#2] assistant, 2026-11-26 11:08\nMessage number 2.\n\n[#1] user, 2026-11-26 11:08\nMessage number 1.", "omitted": 0, "failed": false, "seconds": 0.01}, "toolu_read": {"text": "There is no message from #99 to #99 in this conversation.", "omitted": 0, "failed": true, "seconds": 0.01}}','complete','tool_use','test-model','{"input_tokens": 0, "cache_creation_input_tokens": 935, "cache_read_input_tokens": 0, "cache_creation": {"ephemeral_5m_input_tokens": 935, "ephemeral_1h_input_tokens": 0}, "output_tokens": 75, "output_tokens_details": {"thinking_tokens": 28}}',0.0030875,NULL,'2026-11-20 13:40:00','0000000000004000800000000000001b',36,'',NULL,'Europe/Berlin',0.0,89);
INSERT INTO chat_message VALUES (91,5,4,0,'user','[{"type": "tool_result", "tool_use_id": "toolu_search", "content": "[#2] assistant, 2026-11-26 11:08\nMessage number 2.\n\n[#1] user, 2026-11-26 11:08\nMessage number 1."}, {"type": "tool_result", "tool_use_id": "toolu_read", "content": "There is no message from #99 to #99 in this conversation.", "is_error": true}]','[#2] assistant, 2026-11-26 11:08
Message number 2.

[#1] user, 2026-11-26 11:08
Message number 1.

There is no message from #99 to #99 in this conversation.',NULL,49,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:41:00','0000000000004000800000000000001b',36,'',NULL,'Europe/Berlin',0.0,90);
INSERT INTO chat_message VALUES (92,6,5,0,'assistant','[{"type": "text", "text": "Four beds."}]','Four beds.',NULL,7,0,0,'{}','complete','end_turn','test-model','{"input_tokens": 0, "cache_creation_input_tokens": 157, "cache_read_input_tokens": 935, "cache_creation": {"ephemeral_5m_input_tokens": 157, "ephemeral_1h_input_tokens": 0}, "output_tokens": 3}',0.0006095,NULL,'2026-11-20 13:42:00','0000000000004000800000000000001b',36,'',NULL,'Europe/Berlin',0.0,91);
INSERT INTO chat_message VALUES (93,7,2,1,'user','[{"type": "text", "text": "What of the beds?"}]','What of the beds?',NULL,21,0,0,'{}','complete','','',NULL,0.0,NULL,'2026-11-20 13:46:00','0000000000004000800000000000001b',37,'[Thursday, 26 November 2026, 11:08, UTC]','2026-11-20 13:45:00','UTC',0.0,88);
INSERT INTO chat_message VALUES (94,8,3,0,'assistant','[{"type": "text", "text": "Five beds."}]','Five beds.',NULL,7,0,0,'{}','complete','end_turn','test-model','{"input_tokens": 0, "cache_creation_input_tokens": 26, "cache_read_input_tokens": 903, "cache_creation": {"ephemeral_5m_input_tokens": 26, "ephemeral_1h_input_tokens": 0}, "output_tokens": 3}',2.7560000000000003115e-04,NULL,'2026-11-20 13:47:00','0000000000004000800000000000001b',37,'',NULL,'UTC',0.0,93);
INSERT INTO chat_message VALUES (95,9,3,1,'assistant','[{"type": "text", "text": "Six beds."}]','Six beds.',NULL,7,0,0,'{}','complete','end_turn','test-model','{"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 929, "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, "output_tokens": 3}',2.15800000000000014163e-04,NULL,'2026-11-20 13:50:00','0000000000004000800000000000001b',38,'',NULL,'UTC',0.0,93);
INSERT INTO chat_compaction VALUES (1,2,'auto','tea','test-model','compact-5','completed',0,'2026-11-20 14:10:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',991,495,10,9,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 10:52:00','2026-11-20 10:53:00','2026-11-20 10:54:00','00000000000040008000000000000012',23,24,17,'serialised','not cached','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (2,2,'manual','tea','test-model','compact-5','completed',0,'2026-11-20 14:12:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1150,575,9,7,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 10:57:00','2026-11-20 10:58:00','2026-11-20 10:59:00','00000000000040008000000000000012',25,26,18,'serialised','not cached','compaction',1,1);
INSERT INTO chat_compaction VALUES (3,2,'prepared','tea','test-model','compact-5','completed',0,'2026-11-20 14:14:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 5 and of 6 [#5 #6]", "first": 5, "through": 6, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1166,583,7,5,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:02:00','2026-11-20 11:03:00','2026-11-20 11:04:00','00000000000040008000000000000012',27,28,19,'serialised','not cached','compaction',2,2);
INSERT INTO chat_compaction VALUES (4,2,'idle','tea','test-model','compact-5','completed',0,'2026-11-20 14:16:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 5 and of 6 [#5 #6]", "first": 5, "through": 6, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 7 and of 8 [#7 #8]", "first": 7, "through": 8, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1182,591,5,3,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:07:00','2026-11-20 11:08:00','2026-11-20 11:09:00','00000000000040008000000000000012',29,30,20,'serialised','not cached','compaction',3,3);
INSERT INTO chat_compaction VALUES (5,2,'overflow','tea','test-model','compact-5','completed',0,'2026-11-20 14:18:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',991,495,10,9,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:24:00','2026-11-20 11:25:00','2026-11-20 11:26:00','00000000000040008000000000000013',33,34,21,'serialised','not cached','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (6,2,'iterations','tea','test-model','compact-5','completed',0,'2026-11-20 14:20:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1150,575,9,7,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:29:00','2026-11-20 11:30:00','2026-11-20 11:31:00','00000000000040008000000000000013',35,36,22,'serialised','not cached','compaction',5,5);
INSERT INTO chat_compaction VALUES (7,2,'messages','tea','test-model','compact-5','completed',0,'2026-11-20 14:22:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 5 and of 6 [#5 #6]", "first": 5, "through": 6, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1166,583,7,5,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:34:00','2026-11-20 11:35:00','2026-11-20 11:36:00','00000000000040008000000000000013',37,38,23,'serialised','not cached','compaction',6,6);
INSERT INTO chat_compaction VALUES (8,2,'tool','tea','test-model','compact-5','completed',0,'2026-11-20 14:24:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 5 and of 6 [#5 #6]", "first": 5, "through": 6, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 7 and of 8 [#7 #8]", "first": 7, "through": 8, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1182,591,5,3,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:39:00','2026-11-20 11:40:00','2026-11-20 11:41:00','00000000000040008000000000000013',39,40,24,'serialised','not cached','compaction',7,7);
INSERT INTO chat_compaction VALUES (9,2,'model_switch','tea','test-model','compact-5','completed',0,'2026-11-20 14:26:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',991,495,10,9,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 11:56:00','2026-11-20 11:57:00','2026-11-20 11:58:00','00000000000040008000000000000014',43,44,25,'serialised','not cached','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (10,2,'','tea','test-model','compact-5','completed',0,'2026-11-20 14:28:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1150,575,9,7,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 12:01:00','2026-11-20 12:02:00','2026-11-20 12:03:00','00000000000040008000000000000014',45,46,26,'serialised','not cached','edit',9,9);
INSERT INTO chat_compaction VALUES (11,2,'','tea','test-model','compact-5','completed',0,'2026-11-20 14:30:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 5 and of 6 [#5 #6]", "first": 5, "through": 6, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #5 to #6**

## Overview

- They talked of 5 and of 6 [#5 #6]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1166,583,7,5,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 12:06:00','2026-11-20 12:07:00','2026-11-20 12:08:00','00000000000040008000000000000014',47,48,27,'serialised','not cached','rebuilt',10,10);
INSERT INTO chat_compaction VALUES (12,2,'','tea','test-model','compact-5','completed',0,'2026-11-20 14:32:00','[{"text": "## Overview\n\n- They talked of 1 and of 2 [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 3 and of 4 [#3 #4]", "first": 3, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "## Overview\n\n- They talked of 7 and of 8 [#7 #8]", "first": 7, "through": 8, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They talked of 1 and of 2 [#1 #2]

* * *

**Messages #3 to #4**

## Overview

- They talked of 3 and of 4 [#3 #4]

* * *

**Messages #7 to #8**

## Overview

- They talked of 7 and of 8 [#7 #8]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',1182,591,5,3,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 12:11:00','2026-11-20 12:12:00','2026-11-20 12:13:00','00000000000040008000000000000014',49,50,28,'serialised','not cached','rewrite',11,11);
INSERT INTO chat_compaction VALUES (13,2,'','','test-model','compact-5','completed',1,'2026-11-20 14:33:00','[{"text": "## Overview\n\n- Ada wrote this [#1 #2]", "first": 1, "through": 8, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": ["- Ada wrote this [#1 #2]"], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #8**

## Overview

- Ada wrote this [#1 #2]','{"bullets": 1, "dropped": [], "unverified": ["- Ada wrote this [#1 #2]"], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": []}',1164,1092,0,0,NULL,0.0,NULL,'','2026-11-20 12:16:00',NULL,'2026-11-20 12:15:00','00000000000040008000000000000014',49,50,NULL,'edited','by the user','edit',12,12);
INSERT INTO chat_compaction VALUES (14,2,'manual','','test-model','compact-5','running',0,'2026-11-20 14:35:00','[]','','{}',936,0,4,0,NULL,0.0,4242,'','2026-11-20 12:24:00','2026-11-20 12:25:00',NULL,'00000000000040008000000000000015',53,54,29,'','','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (15,2,'manual','','test-model','compact-5','ready',0,'2026-11-20 14:37:00','[]','','{}',936,0,4,0,NULL,0.0,4242,'','2026-11-20 12:33:00','2026-11-20 12:34:00',NULL,'00000000000040008000000000000016',57,58,30,'','','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (16,2,'manual','','test-model','compact-5','completed',0,'2026-11-20 14:39:00','[{"text": "## Overview\n\n- They greeted each other [#1 #2]", "first": 1, "through": 2, "depth": 1, "level": 1, "pins": [], "index": [], "gap": false, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #2**

## Overview

- They greeted each other [#1 #2]','{"bullets": 0, "dropped": [], "unverified": [], "left_out": [], "unread_messages": 0, "unread_tokens": 0, "given_back": [], "cut": [], "left": [], "borne_out": [], "unwritten": [], "ended": [], "failures": [], "not_pinned": [], "dollars": {}, "calls": 0}',936,468,4,3,'{"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.004,4242,'','2026-11-20 12:43:00','2026-11-20 12:44:00','2026-11-20 12:45:00','00000000000040008000000000000017',61,62,31,'serialised','not cached','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (17,2,'manual','','test-model','compact-5','failed',0,'2026-11-20 14:41:00','[]','','{}',936,0,4,0,NULL,0.0,4242,'The model server is not reachable.','2026-11-20 12:54:00','2026-11-20 12:55:00','2026-11-20 12:56:00','00000000000040008000000000000018',65,66,32,'','','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (18,2,'manual','','test-model','compact-5','cancelled',0,'2026-11-20 14:43:00','[]','','{}',936,0,4,0,NULL,0.0,4242,'Cancelled. Nothing was changed.','2026-11-20 13:05:00','2026-11-20 13:06:00','2026-11-20 13:07:00','00000000000040008000000000000019',69,70,33,'','','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (19,4,'manual','','test-model','compact-5','completed',0,'2026-11-20 14:45:00','[{"text": "These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.", "first": 1, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": true, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #4**

These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.','{"bullets": 0, "left_out": [], "unread_messages": 0, "unread_tokens": 0, "unwritten": [], "failures": [], "dollars": {}, "calls": 0}',1031,515,14,11,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 13:25:00','2026-11-20 13:26:00','2026-11-20 13:27:00','0000000000004000800000000000001a',73,76,34,'serialised','not cached','compaction',NULL,NULL);
INSERT INTO chat_compaction VALUES (20,4,'manual','','test-model','compact-5','completed',0,'2026-11-20 14:47:00','[{"text": "These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.", "first": 1, "through": 4, "depth": 1, "level": 1, "pins": [], "index": [], "gap": true, "left_out": [], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}, {"text": "These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.", "first": 5, "through": 8, "depth": 1, "level": 1, "pins": [], "index": [], "gap": true, "left_out": [5, 6], "own": [], "withheld": [], "parts": [], "quotes": [], "days": null}]','**Messages #1 to #4**

These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.

* * *

**Messages #5 to #8**

These messages are being summarised again, because the user deleted, left out or put back one of them. Until then, search has them.','{"bullets": 0, "left_out": [], "unread_messages": 0, "unread_tokens": 0, "unwritten": [], "failures": [], "dollars": {}, "calls": 0}',1172,586,11,7,'{"input_tokens": 900, "output_tokens": 90, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "ephemeral_1h_input_tokens": 0}',0.0027,4242,'','2026-11-20 13:30:00','2026-11-20 13:31:00','2026-11-20 13:32:00','0000000000004000800000000000001a',77,80,35,'serialised','not cached','compaction',19,19);
INSERT INTO django_session VALUES ('session0of0a0release0000000000ab','eyJfYXV0aF91c2VyX2lkIjoiMSJ9:1xWXKn:D_7uVGnvTgXq-33MoEpDjwk17JM3egm0YWcYz_461Dk','2036-01-01 00:00:00');
INSERT INTO django_session VALUES ('26tthab44blxa4rlg9khci5u2j2cj51b','.eJxVjDsOwyAQRO9CHSE-axunSy6CFhYLFAtLAaoodw-2XDjFFPPm82EWW422lfC2ididSXa7Mof-FfIe4LrumKP3W8uVH50zLvzRXcg1eaxpy89z9XcVscT-Y4KgAVCS0rMmqSUswsGsPYxTUAJFl6POFhqBYDIOtCJJZkClAAX7_gCqNTvq:1xWXKo:Htxvr2cosA71R-1JRKDgEDyt0YwYpDQJiXkJKZkDHQE','2026-12-10 11:08:14.256603');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('django_migrations',35);
INSERT INTO sqlite_sequence VALUES ('django_content_type',22);
INSERT INTO sqlite_sequence VALUES ('auth_permission',88);
INSERT INTO sqlite_sequence VALUES ('auth_group',1);
INSERT INTO sqlite_sequence VALUES ('account_emailaddress',1);
INSERT INTO sqlite_sequence VALUES ('django_admin_log',1);
INSERT INTO sqlite_sequence VALUES ('chat_memory',3);
INSERT INTO sqlite_sequence VALUES ('chat_memoryproposal',2);
INSERT INTO sqlite_sequence VALUES ('chat_message',95);
INSERT INTO sqlite_sequence VALUES ('chat_compaction',20);
INSERT INTO sqlite_sequence VALUES ('accounts_user',2);
INSERT INTO sqlite_sequence VALUES ('auth_group_permissions',1);
INSERT INTO sqlite_sequence VALUES ('accounts_user_groups',1);
INSERT INTO sqlite_sequence VALUES ('accounts_user_user_permissions',1);
INSERT INTO sqlite_sequence VALUES ('account_emailconfirmation',1);
INSERT INTO sqlite_sequence VALUES ('chat_modelprofile',2);
INSERT INTO sqlite_sequence VALUES ('chat_provider',1);
INSERT INTO sqlite_sequence VALUES ('chat_mcpserver',2);
INSERT INTO sqlite_sequence VALUES ('chat_attachment_messages',4);
INSERT INTO sqlite_sequence VALUES ('chat_turn',38);
INSERT INTO sqlite_sequence VALUES ('chat_callend',3);
COMMIT;
