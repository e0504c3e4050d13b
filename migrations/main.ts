import { Command } from "commander";
import { requireNode } from "../runtime/env.ts";
import { migrateDown, migrateUnlock, migrateUp, type MigrationSet } from "./migrate.ts";
import { migrationTarget } from "./target.ts";

requireNode();

const actions = { up: migrateUp, down: migrateDown, unlock: migrateUnlock };

const program = new Command("migrate").description("Bring a schema to the newest version, or undo the last batch");
for (const [name, action] of Object.entries(actions)) {
  program
    .command(`${name} <set> <schema>`)
    .description(`${name}: <set> is "stripe" or "control"; the server is named by MIGRATE_DB_* in the environment`)
    .action(async (set: string, schema: string) => {
      if (set !== "stripe" && set !== "control") throw new Error(`unknown set "${set}": use "stripe" or "control"`);
      const names = await action(set satisfies MigrationSet, migrationTarget(), schema);
      process.stdout.write(`${schema}: ${names === undefined ? "unlocked" : names.join(", ") || "nothing to do"}\n`);
    });
}
program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
