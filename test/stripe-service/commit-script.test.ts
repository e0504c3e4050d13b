// The last round trip of a transaction: it commits everything or nothing, and says for certain which when it was refused.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createPool, type Pool, type PoolConnection } from "../../runtime/mysql.ts";
import { RefusedBeforeCommit, writeAndCommit } from "../../stripe-service/db/script.ts";
import { StripeHarness } from "../support/stripe-harness.ts";

const TABLE = "scripted";

describe("what is written together with COMMIT", () => {
  let h: StripeHarness;
  let pool: Pool;
  before(async () => {
    h = await StripeHarness.start();
    await h.database.sql(`CREATE TABLE ${TABLE} (id INT PRIMARY KEY, value INT NOT NULL)`);
    pool = createPool(h.database.target, { connectionsMax: 2, queueMax: 8, connectTimeoutMs: 5_000, scripts: true });
  });
  after(async () => {
    await pool.end();
    await h[Symbol.asyncDispose]();
  });

  async function inTransaction(work: (db: PoolConnection) => Promise<void>): Promise<void> {
    const db = await pool.getConnection();
    try {
      await db.query("SET autocommit = 0");
      await work(db);
    } finally {
      await db.query("ROLLBACK");
      db.release();
    }
  }

  const insert = (id: number): { readonly sql: string } => ({ sql: `INSERT INTO ${TABLE} VALUES (${id}, 1)` });
  const change = (id: number): { readonly sql: string; readonly rows: number } => ({
    sql: `UPDATE ${TABLE} SET value = value + 1 WHERE id = ${id}`,
    rows: 1,
  });
  const has = (id: number): Promise<unknown> => h.value(`SELECT COUNT(*) FROM ${TABLE} WHERE id = ?`, [id]);
  const errnoOf = (error: unknown): unknown => ((error as Error).cause as { errno?: number }).errno;

  test("it is all there when every statement did what it must", async () => {
    await inTransaction((db) => writeAndCommit(db, [insert(1), change(1), insert(2)]));
    assert.deepEqual([await has(1), await has(2)], [1, 1]);
  });

  test("nothing is committed when a statement changed fewer rows than it must", async () => {
    await inTransaction(async (db) => {
      await assert.rejects(writeAndCommit(db, [insert(3), change(99), insert(4)]), RefusedBeforeCommit);
      await assert.rejects(
        writeAndCommit(db, [insert(5), change(99)]),
        RefusedBeforeCommit,
        "the last before COMMIT too",
      );
    });
    assert.deepEqual([await has(3), await has(4), await has(5)], [0, 0, 0]);
  });

  test("a statement that the server refuses is told apart from a COMMIT without an answer", async () => {
    await inTransaction(async (db) => {
      await assert.rejects(writeAndCommit(db, [insert(6), insert(1)]), (error) => {
        assert.ok(error instanceof RefusedBeforeCommit);
        assert.equal(errnoOf(error), 1062);
        return true;
      });
    });
    assert.equal(await has(6), 0);
  });
});
