import { type MigrationSet, withSchema } from "./migrate.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";

const HEAD = "-- The schema that the migrations lead to; `npm run schema` writes it, a test compares it.\n";

/** All tables of a migrated schema as one text, by name, without knex's own and without what depends on the data. */
export function dumpSchema(target: MysqlTarget, schema: string): Promise<string> {
  return withSchema(target, schema, async (db) => {
    const [tables] = (await db.raw("SHOW TABLES")) as [Record<string, string>[]];
    const names = tables.flatMap((row) => Object.values(row)).filter((name) => !name.startsWith("knex_"));
    const statements: string[] = [];
    for (const name of names.sort()) {
      const [[row]] = (await db.raw("SHOW CREATE TABLE ??", [name])) as [Record<string, string>[]];
      statements.push(`${(row?.["Create Table"] ?? "").replace(/ AUTO_INCREMENT=\d+/, "")};\n`);
    }
    return [HEAD, ...statements].join("\n");
  });
}

/** Where the dump of a set is kept. */
export function dumpFile(set: MigrationSet): URL {
  return new URL(`./schema/${set}.sql`, import.meta.url);
}
