// Which database versions this code can work with. A schema's version is the name of its newest migration, a 14-digit
// stamp first. A newer schema is fine unless a migration newer than the code's newest is marked breaking in its name
// (`…_breaking_…`), as old code cannot look inside it.

export const STRIPE_SCHEMA_REQUIRED = "20261129002100";
export const CONTROL_SCHEMA_REQUIRED = "20261129002200";

/**
 * Says why code that needs `required` cannot work with a schema, or null when it can.
 * @param applied names of the migrations found in the database
 */
export function schemaFault(applied: readonly string[], required: string): string | null {
  if (!applied.some((name) => name.startsWith(required))) {
    const newest = [...applied].sort().at(-1) ?? "nothing";
    return `the database is too old: it has ${newest}, this code needs ${required}; run \`npm run migrate\``;
  }
  const breaking = applied.find((name) => name.slice(0, 14) > required && name.includes("_breaking_"));
  return breaking === undefined ? null : `the database is too new: ${breaking} needs newer code; upgrade this process`;
}
