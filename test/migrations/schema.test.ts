import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { type ScratchServer, startScratchServer } from "../../local-cluster/scratch-server.ts";
import { dumpFile, dumpSchema } from "../../migrations/dump-schema.ts";
import { migrateDown, migrateUp, migrationNames } from "../../migrations/migrate.ts";

describe("migrations", () => {
  let server: ScratchServer;
  before(async () => {
    server = await startScratchServer();
  });
  after(() => server[Symbol.asyncDispose]());

  for (const set of ["stripe", "control"] as const) {
    test(`${set}: lead to the committed schema, undo themselves, and lead to it again`, async () => {
      const committed = await readFile(dumpFile(set), "utf8");
      assert.deepEqual(await migrateUp(set, server.target, set), migrationNames(set));
      assert.equal(await dumpSchema(server.target, set), committed, "run `npm run schema` and look at the difference");
      assert.deepEqual((await migrateDown(set, server.target, set)).sort(), migrationNames(set));
      assert.doesNotMatch(await dumpSchema(server.target, set), /CREATE TABLE/);
      await migrateUp(set, server.target, set);
      assert.equal(await dumpSchema(server.target, set), committed);
    });
  }
});
