export interface MysqlVersion {
  readonly text: string;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const OLDEST = { major: 8, minor: 4 };

/**
 * Reads what `mysqld --version` printed.
 * @throws Error when it is MariaDB, older than 8.4, or not a MySQL server at all
 */
export function parseMysqlVersion(printed: string): MysqlVersion {
  if (/mariadb/i.test(printed)) throw new Error("it is MariaDB; a MySQL server, 8.4 or newer, is needed");
  const match = /Ver (\d+)\.(\d+)\.(\d+)/.exec(printed);
  if (match === null) throw new Error(`it does not say a MySQL version: ${printed.trim().slice(0, 200)}`);
  const [major = 0, minor = 0, patch = 0] = match.slice(1).map(Number);
  const version = { text: `${major}.${minor}.${patch}`, major, minor, patch };
  if (compareVersions(version, OLDEST) < 0) {
    throw new Error(`it is MySQL ${version.text}; ${OLDEST.major}.${OLDEST.minor} or newer is needed`);
  }
  return version;
}

/** Negative when `a` is older than `b`; parts that `b` does not name count as 0. */
export function compareVersions(
  a: { major: number; minor: number; patch?: number },
  b: { major: number; minor: number; patch?: number },
): number {
  return a.major - b.major || a.minor - b.minor || (a.patch ?? 0) - (b.patch ?? 0);
}
