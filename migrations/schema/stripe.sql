-- The schema that the migrations lead to; `npm run schema` writes it, a test compares it.

CREATE TABLE `bucket_state` (
  `bucket` smallint unsigned NOT NULL COMMENT '0..1023',
  `role` enum('HOME','IMPORTING','MOVED') COLLATE utf8mb4_0900_bin NOT NULL COMMENT 'no row = not home',
  `move_epoch` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'fencing number of the bucket move',
  PRIMARY KEY (`bucket`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='which buckets this stripe is home to';

CREATE TABLE `excess_payments` (
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_pay_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `reason` enum('DUPLICATE','LATE','SUPERSEDED') COLLATE utf8mb4_0900_bin NOT NULL,
  `total` bigint unsigned NOT NULL COMMENT 'minor units',
  `currency` char(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `payer_openid` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'personal data: never logged',
  `channel` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `channel_transaction_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `success_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`transaction_id`,`out_pay_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='money that moved in the channel without an order to pay; must be given back';

CREATE TABLE `handoffs` (
  `mchid` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_trade_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `bucket` smallint unsigned NOT NULL,
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the order that jumped here',
  `request_hash` binary(32) NOT NULL,
  `failed` varchar(96) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'numbers of the same request whose outcome is unknown, comma separated; immutable',
  `state` enum('PENDING','CLAIMED','DONE') COLLATE utf8mb4_0900_bin NOT NULL,
  `tries` int unsigned NOT NULL DEFAULT '0',
  `next_try` datetime(3) NOT NULL COMMENT 'UTC',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`mchid`,`out_trade_no`),
  KEY `open_buckets` (`state`,`bucket`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='orders that jumped here, until their home knows';

CREATE TABLE `merchant_orders` (
  `bucket` smallint unsigned NOT NULL COMMENT 'a function of mchid and out_trade_no, first in the key so that a bucket is one range',
  `mchid` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_trade_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the pointer; may name an order on another stripe',
  `request_hash` binary(32) NOT NULL COMMENT 'SHA-256 of the content of the create',
  PRIMARY KEY (`bucket`,`mchid`,`out_trade_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='index by merchant number; makes create idempotent for ever';

CREATE TABLE `order_events` (
  `seq` bigint unsigned NOT NULL AUTO_INCREMENT COMMENT 'allocated after stripe_state was read FOR SHARE',
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'NULL when the change is of index, handoff, sequence or stripe alone',
  `mchid` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `out_trade_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `event_type` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `version` int unsigned DEFAULT NULL COMMENT 'of the order after the change',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `data` json NOT NULL COMMENT 'facts of the event; never personal data',
  PRIMARY KEY (`seq`),
  KEY `history` (`transaction_id`,`seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='journal and transactional outbox in one; append only';

CREATE TABLE `orders` (
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `mchid` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_trade_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `description` varchar(127) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL,
  `attach` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `payer_openid` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'personal data: never logged',
  `notify_url` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `total` bigint unsigned NOT NULL COMMENT 'minor units',
  `currency` char(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217',
  `refunded` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'minor units, refunds that succeeded',
  `refunding` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'minor units, reserved by refunds without a final result',
  `refund_count` smallint unsigned NOT NULL DEFAULT '0',
  `trade_state` enum('NOTPAY','SUCCESS','REFUND','CLOSED') COLLATE utf8mb4_0900_bin NOT NULL,
  `close_reason` enum('MERCHANT','EXPIRED','ADMIN','DUPLICATE') COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `superseded_by` char(28) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'the order that stands for this merchant number; set once',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `time_expire` datetime(3) NOT NULL COMMENT 'UTC; never changed',
  `time_expire_given` tinyint unsigned NOT NULL COMMENT '1 when the merchant named it, 0 when it is the default',
  `success_time` datetime(3) DEFAULT NULL COMMENT 'UTC, of the payment',
  `close_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  `out_pay_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `version` int unsigned NOT NULL COMMENT 'grows by one at every committed change',
  PRIMARY KEY (`transaction_id`),
  KEY `expiry` (`trade_state`,`time_expire`),
  CONSTRAINT `orders_not_over_refunded` CHECK (((`refunded` + `refunding`) <= `total`))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='one row an order';

CREATE TABLE `payments` (
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_pay_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `total` bigint unsigned NOT NULL COMMENT 'minor units',
  `currency` char(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `payer_openid` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'personal data: never logged',
  `channel` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `channel_transaction_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `success_time` datetime(3) DEFAULT NULL COMMENT 'UTC, as the channel gave it; NULL when it gave none',
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`transaction_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='the payment of an order; there is at most one';

CREATE TABLE `probe_orders` (
  `probe_id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `checker` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `state` enum('OPEN','CLOSED') COLLATE utf8mb4_0900_bin NOT NULL,
  `version` smallint unsigned NOT NULL,
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (`probe_id`),
  KEY `by_age` (`create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='orders of the health checkers, minutes old at most; no part of the data of the stripe, never journaled or moved';

CREATE TABLE `refunds` (
  `refund_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `transaction_id` char(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `out_refund_no` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `refund` bigint unsigned NOT NULL COMMENT 'minor units',
  `reason` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin DEFAULT NULL,
  `status` enum('PROCESSING','SUCCESS','CLOSED','ABNORMAL') COLLATE utf8mb4_0900_bin NOT NULL,
  `create_time` datetime(3) NOT NULL COMMENT 'UTC',
  `success_time` datetime(3) DEFAULT NULL COMMENT 'UTC',
  `version` int unsigned NOT NULL,
  PRIMARY KEY (`refund_id`),
  UNIQUE KEY `refund_no` (`transaction_id`,`out_refund_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='refunds of the orders of this stripe; never deleted';

CREATE TABLE `sequences` (
  `name` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'orders or refunds',
  `next_value` bigint unsigned NOT NULL COMMENT 'first number that is not leased yet',
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='blocks of sequence numbers are leased from here';

CREATE TABLE `stripe_state` (
  `id` tinyint unsigned NOT NULL COMMENT 'always 1',
  `place` int unsigned NOT NULL COMMENT 'number of this copy of the stripe, in the schema name too',
  `triple_id` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'must equal ha.identity of the triple that serves it',
  `role` enum('PLACE','LEAVING','MOVED','IMPORTING','ABORTED','RESTORED') COLLATE utf8mb4_0900_bin NOT NULL COMMENT 'only PLACE takes writes and primary reads',
  `move_epoch` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'fencing number of moves; never falls',
  `moving` tinyint unsigned NOT NULL DEFAULT '0' COMMENT '1 while a structural task holds the stripe',
  `accepts_creates` tinyint unsigned NOT NULL COMMENT 'new orders are taken',
  `accepts_writes` tinyint unsigned NOT NULL COMMENT 'pay, close, refund are taken',
  `routing_version` bigint unsigned NOT NULL DEFAULT '0' COMMENT 'table version that last changed this row; never falls',
  `moved_to` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'schema of the next place, once MOVED',
  `partition_name` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'whose merchants are served; NULL = not told yet, then any',
  PRIMARY KEY (`id`),
  CONSTRAINT `stripe_state_one_row` CHECK ((`id` = 1))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='what this stripe accepts; read FOR SHARE in every write transaction';
