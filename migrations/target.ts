import { z } from "zod";
import { loadConfig } from "../runtime/env.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";

const schema = z.object({
  MIGRATE_DB_HOST: z.string().default("127.0.0.1"),
  MIGRATE_DB_PORT: z.coerce.number().int().min(1).max(65535).default(3306),
  MIGRATE_DB_USER: z.string().default("migrate"),
  MIGRATE_DB_PASSWORD: z.string().default(""),
});

/** The server that `npm run migrate` works on, from the environment. */
export function migrationTarget(): MysqlTarget {
  const env = loadConfig(schema);
  return {
    host: env.MIGRATE_DB_HOST,
    port: env.MIGRATE_DB_PORT,
    user: env.MIGRATE_DB_USER,
    password: env.MIGRATE_DB_PASSWORD,
  };
}
