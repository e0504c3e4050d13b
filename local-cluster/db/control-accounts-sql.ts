export interface ControlAccount {
  readonly user: string;
  readonly password: string;
}

/** Accounts of the control database: `control` for proxies and ops, `migrate` for schema changes, `viewer` for people. */
export function controlAccountStatements(accounts: {
  readonly control: ControlAccount;
  readonly migrate: ControlAccount;
  readonly viewer: ControlAccount;
}): string[] {
  const { control, migrate, viewer } = accounts;
  return [
    "SET SESSION sql_log_bin = 0",
    ...account(control, "SELECT, INSERT, UPDATE, DELETE ON `control`.*"),
    ...account(migrate, "ALL PRIVILEGES ON `control`.*"),
    ...account(viewer, "SELECT, SHOW VIEW ON `control`.*"),
  ];
}

function account({ user, password }: ControlAccount, grant: string): string[] {
  return [`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`, `GRANT ${grant} TO '${user}'@'%'`];
}

/** Ends a bootstrap: root gets its password, and the data directory begins without a history. */
export function closingStatements(rootPassword: string): string[] {
  return [
    "SET SESSION sql_log_bin = 0",
    `ALTER USER 'root'@'localhost' IDENTIFIED BY '${rootPassword}'`,
    "RESET BINARY LOGS AND GTIDS",
  ];
}
