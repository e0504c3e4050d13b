// `npm run schema`: writes migrations/schema/*.sql anew, from a MySQL server of its own.
import { writeFile } from "node:fs/promises";
import { dumpFile, dumpSchema } from "../migrations/dump-schema.ts";
import { type MigrationSet, migrateUp } from "../migrations/migrate.ts";
import { startScratchServer } from "./scratch-server.ts";

await using server = await startScratchServer();
for (const set of ["stripe", "control"] satisfies MigrationSet[]) {
  await migrateUp(set, server.target, set);
  await writeFile(dumpFile(set), await dumpSchema(server.target, set));
}
