-- The schema that the migrations lead to; `npm run schema` writes it, a test compares it.

CREATE TABLE `audit_log` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `actor` varchar(64) COLLATE utf8mb4_0900_bin NOT NULL COMMENT 'who, as the ops API knows it',
  `action` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `subject` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'e.g. stripe/7',
  `before_value` json DEFAULT NULL,
  `after_value` json DEFAULT NULL,
  `request_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `by_subject` (`subject`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='who changed what, when, from what to what';

CREATE TABLE `bucket_moves` (
  `move_epoch` bigint unsigned NOT NULL AUTO_INCREMENT COMMENT 'fencing number of the move in both stripes',
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `bucket` smallint unsigned NOT NULL,
  `from_stripe` smallint unsigned NOT NULL,
  `to_stripe` smallint unsigned NOT NULL,
  `state` enum('OPEN','DONE') COLLATE utf8mb4_0900_bin NOT NULL,
  `open_bucket` smallint unsigned GENERATED ALWAYS AS (if((`state` = _utf8mb4'OPEN'),`bucket`,NULL)) VIRTUAL COMMENT 'at most one open move of a bucket',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `finish_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  PRIMARY KEY (`move_epoch`),
  UNIQUE KEY `one_open` (`partition_name`,`open_bucket`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='moves of buckets from one home to another';

CREATE TABLE `buckets` (
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `bucket` smallint unsigned NOT NULL COMMENT '0..1023',
  `stripe` smallint unsigned NOT NULL COMMENT 'home',
  PRIMARY KEY (`partition_name`,`bucket`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='home stripe of each bucket, by partition';

CREATE TABLE `merchants` (
  `mchid` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `create_policy` enum('jump','strict') COLLATE utf8mb4_0900_bin NOT NULL,
  `update_time` datetime(3) NOT NULL COMMENT 'UTC',
  `former_partitions` json DEFAULT NULL COMMENT 'array of partitions that may hold numbers of the merchant, the newest first',
  PRIMARY KEY (`mchid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='merchants that differ from the defaults';

CREATE TABLE `partition_trials` (
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'whose merchants take part',
  `to_partition` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'where they are placed',
  `permyriad` smallint unsigned NOT NULL COMMENT 'share of the merchants, in ten thousandths',
  `permyriad_max` smallint unsigned NOT NULL COMMENT 'the largest share that there ever was',
  `update_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`partition_name`),
  CONSTRAINT `partition_trials_share` CHECK (((`permyriad` <= `permyriad_max`) and (`permyriad_max` <= 10000)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='a share of a partition''s merchants placed in another partition, to try something new';

CREATE TABLE `recoveries` (
  `recovery_id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `triple_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `stripe` smallint unsigned NOT NULL,
  `kind` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LEAD, SWITCHOVER, REJOIN, REBUILD, NARROW, ABORT, BIRTH',
  `problem` varchar(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'code of the problem table',
  `owner` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that began it',
  `epoch` bigint unsigned NOT NULL COMMENT 'at its beginning',
  `src_before` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `src_after` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'null while it runs',
  `victim` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'server that is rejoined, rebuilt or dropped',
  `outcome` varchar(16) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'DONE, BLOCKED, FAILED, UNDONE; null while it runs',
  `detail` varchar(1000) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `start_time` datetime(3) NOT NULL COMMENT 'UTC, by the clock of this database',
  `finish_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  PRIMARY KEY (`recovery_id`),
  KEY `by_triple` (`triple_id`,`start_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='every recovery, with what it was for and how it ended; no decision reads it';

CREATE TABLE `recovery_steps` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `recovery_id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `owner` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that took the step',
  `epoch` bigint unsigned NOT NULL,
  `step` varchar(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'a compare-and-set or a command',
  `server` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `outcome` varchar(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'OK, or the code of the refusal',
  `took_ms` int unsigned NOT NULL,
  `detail` varchar(1000) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `step_time` datetime(3) NOT NULL COMMENT 'UTC, end of the step by the clock of the controller',
  PRIMARY KEY (`id`),
  KEY `by_recovery` (`recovery_id`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='what each recovery did, step by step';

CREATE TABLE `routing_meta` (
  `id` tinyint unsigned NOT NULL COMMENT 'always 1',
  `version` bigint unsigned NOT NULL COMMENT 'of the whole routing table; grows with every change',
  PRIMARY KEY (`id`),
  CONSTRAINT `routing_meta_one_row` CHECK ((`id` = 1))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='version of the routing table';

CREATE TABLE `stripes` (
  `stripe` smallint unsigned NOT NULL COMMENT '1..9999, never reused',
  `version` bigint unsigned NOT NULL COMMENT 'of this row; the ETag of the ops API',
  `place` int unsigned NOT NULL COMMENT 'which copy of the stripe is served',
  `triple_id` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `temperature` enum('hot','warm','cold') COLLATE utf8mb4_0900_bin NOT NULL,
  `weight` smallint unsigned NOT NULL COMMENT '0..1000, share of new orders',
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `blocked` tinyint unsigned NOT NULL COMMENT '1: proxies send no creates, by hand',
  `services` json NOT NULL COMMENT 'base URLs of the stripe service instances',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `update_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`stripe`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='one row a stripe';

CREATE TABLE `switchover_requests` (
  `request_id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `triple_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `target` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'server that shall lead; null = the controller chooses',
  `requested_by` varchar(64) COLLATE utf8mb4_0900_bin NOT NULL,
  `request_time` datetime(3) NOT NULL COMMENT 'UTC, by the clock of this database',
  `expire_time` datetime(3) NOT NULL COMMENT 'UTC; not begun later',
  `state` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'WAITING' COMMENT 'WAITING, RUNNING, DONE, REFUSED, UNDONE, EXPIRED',
  `detail` varchar(1000) COLLATE utf8mb4_0900_bin DEFAULT NULL COMMENT 'why refused or undone',
  `recovery_id` char(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `finish_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  PRIMARY KEY (`request_id`),
  KEY `by_triple` (`triple_id`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='switchovers that an operator asks for; the leading controller carries them out';

CREATE TABLE `triples` (
  `triple_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `stripe` smallint unsigned NOT NULL,
  `epoch` bigint unsigned NOT NULL COMMENT 'fencing number of every command to an agent; only grows',
  `phase` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'IDLE, REVOKE, PROMOTE, NARROW',
  `src` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'a server that holds every acknowledged write',
  `tenure` bigint unsigned NOT NULL COMMENT 'epoch at which src was first recorded; 0 = never opened',
  `ack_set` json NOT NULL COMMENT 'every server that can acknowledge; covers every acknowledged write',
  `owner` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that leads the triple',
  `lease_until` datetime(6) NOT NULL COMMENT 'UTC, by the clock of this database',
  `victim` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'the member that NARROW drops',
  `u` mediumtext CHARACTER SET ascii COLLATE ascii_bin COMMENT 'GTID set that the last candidate had to contain; audit only',
  `version` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'grows with every compare-and-set',
  PRIMARY KEY (`triple_id`),
  CONSTRAINT `triples_phase` CHECK ((`phase` in (_utf8mb4'IDLE',_utf8mb4'REVOKE',_utf8mb4'PROMOTE',_utf8mb4'NARROW')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='who leads each triple and what is known of it; changed by compare-and-set only';

CREATE TABLE `verdict_changes` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `stripe` smallint unsigned NOT NULL,
  `checker` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'instance whose verdict changed',
  `verdict_before` enum('unknown','healthy','degraded','unhealthy') COLLATE utf8mb4_0900_bin NOT NULL,
  `verdict_after` enum('unknown','healthy','degraded','unhealthy') COLLATE utf8mb4_0900_bin NOT NULL,
  `reason` varchar(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `latency_us` int unsigned DEFAULT NULL COMMENT 'median of the probes of the last seconds',
  `success_permille` smallint unsigned DEFAULT NULL COMMENT 'of the probes of the last seconds',
  PRIMARY KEY (`id`),
  KEY `by_stripe` (`stripe`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='history of what the health checkers say of the stripes; purged by number';
