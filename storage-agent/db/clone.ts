import { MysqldDown, SqlError } from "./session.ts";
import type { Session } from "./session.ts";

/** "Restart server failed (mysqld is not managed by supervisor process)": the clone is complete, mysqld goes down. */
const RESTART_FAILED = 3707;

/**
 * Replaces all data by the donor's; resolves when the copy is complete and mysqld is going down.
 * @throws SqlError when the clone failed (mysqld stays up, its data is not to be trusted), MysqldDown
 */
export async function cloneFrom(
  session: Session,
  donor: { readonly host: string; readonly port: number; readonly user: string; readonly password: string },
  options: { readonly tls: boolean; readonly timeoutMs: number },
): Promise<void> {
  await session.query("SET GLOBAL clone_valid_donor_list = ?", [`${donor.host}:${donor.port}`]);
  const require = options.tls ? " REQUIRE SSL" : "";
  try {
    await session.query(
      `CLONE INSTANCE FROM ?@?:${Number(donor.port)} IDENTIFIED BY ?${require}`,
      [donor.user, donor.host, donor.password],
      options.timeoutMs,
    );
  } catch (error) {
    if (error instanceof SqlError && error.errno === RESTART_FAILED) return;
    // The answer may be lost with the connection; whether the clone is complete is verified after the restart.
    if (error instanceof MysqldDown) return;
    throw error;
  }
}

/** gtid_executed of another server, read with the clone account. */
export async function readExecuted(session: Session): Promise<string> {
  const [row] = await session.query<{ executed: string }>("SELECT @@global.gtid_executed AS executed");
  return (row?.executed ?? "").replaceAll(/\s/g, "");
}

/** Orderly stop; mysqld may close the connection instead of answering. */
export async function shutDown(session: Session): Promise<void> {
  try {
    await session.query("SHUTDOWN");
  } catch (error) {
    if (!(error instanceof MysqldDown)) throw error;
  }
}
