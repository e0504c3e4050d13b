/** Statements for a scratch server's `--init-file`: one account that may do everything, from any address. */
export function scratchAccountSql(user: string, password: string): string {
  return [
    "SET sql_log_bin=0;",
    `CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO '${user}'@'%' WITH GRANT OPTION;`,
    "",
  ].join("\n");
}
