import mysql from "mysql2/promise";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Runs statements in order as `root@localhost` (no password yet) over the server's Unix socket.
 * @throws Error with the number of the statement that failed; never its text, which may hold a password
 */
export async function runAsRoot(socketPath: string, statements: readonly string[]): Promise<void> {
  const connection = await mysql.createConnection({ socketPath, user: "root", connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    for (const [i, statement] of statements.entries()) {
      await connection.query(statement).catch((error: Error) => {
        throw new Error(`statement ${i + 1} of ${statements.length}: ${error.message}`, { cause: error });
      });
    }
  } finally {
    connection.destroy();
  }
}
