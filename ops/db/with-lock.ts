import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";

/**
 * Runs `work` while no one else runs work under the same name, at this control database.
 * @throws DomainError STATE_NOT_ALLOWED when somebody does for longer than `waitS`; what `work` throws
 */
export async function withLock<T>(control: Knex, name: string, waitS: number, work: () => Promise<T>): Promise<T> {
  return control.transaction(async (trx) => {
    const [[row]] = (await trx.raw("SELECT GET_LOCK(?, ?) AS got", [name, waitS])) as [{ got: number }[]];
    if (row?.got !== 1) throw new DomainError("STATE_NOT_ALLOWED", `somebody else is at ${name}`);
    try {
      return await work();
    } finally {
      await trx.raw("SELECT RELEASE_LOCK(?)", [name]);
    }
  });
}
