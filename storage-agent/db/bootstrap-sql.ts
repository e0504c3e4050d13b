// Accounts and the `ha` schema of every server, put into the pristine data directory before it is copied. They are
// written with sql_log_bin=0: a new server has an empty gtid_executed, and replication never carries account changes.

export interface BootstrapAccounts {
  readonly agent: { readonly user: string; readonly password: string };
  readonly watch: { readonly user: string; readonly password: string };
  readonly replication: {
    readonly userPrefix: string;
    readonly password: string;
    /** Letters of the servers of a triple, e.g. ["a", "b", "c"]. */
    readonly letters: readonly string[];
  };
  readonly clone: { readonly user: string; readonly password: string };
  /** The stripe service: reads and writes orders. */
  readonly app: { readonly user: string; readonly password: string };
  /** Schema changes of the stripes. */
  readonly migrate: { readonly user: string; readonly password: string };
  /** People who look into the databases. */
  readonly viewer: { readonly user: string; readonly password: string };
}

const STRIPE_SCHEMAS = "`stripe\\_%`.*";

/** Rows of `ha.nudge`: writes that never wait for one another's row locks while commits wait for acknowledgements. */
export const NUDGE_ROWS = 64;

const AGENT_PRIVILEGES = [
  "SELECT, RELOAD, PROCESS, SHUTDOWN, CREATE USER, REPLICATION CLIENT, REPLICATION SLAVE",
  "SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN, BINLOG_ADMIN, CONNECTION_ADMIN, SERVICE_CONNECTION_ADMIN",
  "REPLICATION_SLAVE_ADMIN, CLONE_ADMIN, BACKUP_ADMIN",
  "SYSTEM_USER", // to end a replication thread that waits
].join(", ");

/**
 * The statements, in order, to run once as root on the pristine data directory. Each is one statement without `;`.
 * The replication accounts are created locked: only `prepare` and `admit` unlock one.
 */
export function bootstrapStatements(accounts: BootstrapAccounts): string[] {
  const { agent, watch, replication, clone, app, migrate, viewer } = accounts;
  return [
    "SET SESSION sql_log_bin = 0",
    ...createHaSchema(),
    ...account(agent, `GRANT ${AGENT_PRIVILEGES} ON *.*`),
    // No privilege that passes read_only: what this account can write is exactly what any client could.
    ...account(
      watch,
      "GRANT PROCESS, REPLICATION CLIENT, SERVICE_CONNECTION_ADMIN ON *.*",
      "GRANT SELECT, INSERT, UPDATE ON ha.*",
      "GRANT SELECT ON performance_schema.*",
      "GRANT SELECT ON mysql.user",
    ),
    ...replication.letters.flatMap((letter) => replicationAccount(replication, letter)),
    ...account(clone, "GRANT BACKUP_ADMIN ON *.*"),
    ...account(app, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${STRIPE_SCHEMAS}`, "GRANT SELECT ON ha.*"),
    ...account(
      migrate,
      "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, TRIGGER " +
        `ON ${STRIPE_SCHEMAS}`,
      "GRANT SELECT ON ha.*",
    ),
    ...account(viewer, `GRANT SELECT, SHOW VIEW ON ${STRIPE_SCHEMAS}`, "GRANT SELECT ON ha.*", "GRANT PROCESS ON *.*"),
    "SET SESSION sql_log_bin = 1",
  ];
}

function createHaSchema(): string[] {
  const nudgeRows = Array.from({ length: NUDGE_ROWS }, (_, id) => `(${id}, 0, UTC_TIMESTAMP(6))`).join(", ");
  const counter = "id TINYINT UNSIGNED PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, at DATETIME(6) NOT NULL";
  return [
    "CREATE DATABASE ha CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin",
    "CREATE TABLE ha.identity (only_row TINYINT PRIMARY KEY DEFAULT 1, triple_id VARCHAR(64) NOT NULL, " +
      "CHECK (only_row = 1)) COMMENT 'which triple this data belongs to'",
    `CREATE TABLE ha.beat (${counter}) COMMENT 'written four times a second by the agent of the source'`,
    "INSERT INTO ha.beat VALUES (1, 0, UTC_TIMESTAMP(6))",
    `CREATE TABLE ha.nudge (${counter}) COMMENT 'writes that show that acknowledgements flow'`,
    `INSERT INTO ha.nudge VALUES ${nudgeRows}`,
    "CREATE TABLE ha.epoch (epoch BIGINT UNSIGNED PRIMARY KEY, server VARCHAR(32) NOT NULL, " +
      "server_uuid CHAR(36) NOT NULL, opened_at DATETIME(6) NOT NULL) COMMENT 'reigns of the sources of this triple'",
  ];
}

function account(who: { readonly user: string; readonly password: string }, ...grants: string[]): string[] {
  const name = `${quote(who.user)}@'%'`;
  return [
    `CREATE USER ${name} IDENTIFIED BY ${quote(who.password)} PASSWORD EXPIRE NEVER`,
    ...grants.map((grant) => `${grant} TO ${name}`),
  ];
}

function replicationAccount(replication: BootstrapAccounts["replication"], letter: string): string[] {
  const name = `${quote(replication.userPrefix + letter)}@'%'`;
  return [
    `CREATE USER ${name} IDENTIFIED BY ${quote(replication.password)} PASSWORD EXPIRE NEVER ACCOUNT LOCK`,
    `GRANT REPLICATION SLAVE ON *.* TO ${name}`,
  ];
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
