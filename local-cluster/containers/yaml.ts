// As much of YAML as a compose file needs: maps, lists, and scalars in the quotes of JSON.

export type YamlValue = string | number | boolean | Anchored | readonly YamlValue[] | YamlMap;

/** A map that others take in with `"<<": "*name"`. */
export class Anchored {
  readonly name: string;
  readonly value: YamlMap;

  constructor(name: string, value: YamlMap) {
    this.name = name;
    this.value = value;
  }
}

export type YamlMap = { readonly [key: string]: YamlValue };

const MERGE = "<<";
const PLAIN = /^[A-Za-z_./][A-Za-z0-9_./-]*$/;
const RESERVED = /^(true|false|yes|no|on|off|null|y|n|~)$/i;
const LINE_CHARS_MAX = 120;

/** A document in block style; short lists of scalars on one line. */
export function yaml(value: YamlMap): string {
  return `${block(value, "").join("\n")}\n`;
}

function block(value: YamlValue, indent: string): string[] {
  if (Array.isArray(value)) return (value as readonly YamlValue[]).flatMap((item) => listItem(item, indent));
  return Object.entries(value as YamlMap).flatMap(([key, item]) => entry(`${indent}${scalar(key)}:`, item, indent));
}

function entry(head: string, item: YamlValue, indent: string): string[] {
  if (item instanceof Anchored) return [`${head} &${item.name}`, ...block(item.value, `${indent}  `)];
  const short = inline(item);
  if (short !== undefined && typeof item !== "object") return [`${head} ${short}`];
  if (short !== undefined && `${head} ${short}`.length <= LINE_CHARS_MAX) return [`${head} ${short}`];
  return [head, ...block(item, `${indent}  `)];
}

function listItem(item: YamlValue, indent: string): string[] {
  const short = inline(item);
  if (short !== undefined && typeof item !== "object") return [`${indent}- ${short}`];
  if (short !== undefined && `${indent}- ${short}`.length <= LINE_CHARS_MAX) return [`${indent}- ${short}`];
  const [first = "", ...rest] = block(item, `${indent}  `);
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
}

/** What may stand on one line: scalars, lists of scalars, maps of such things. */
function inline(value: YamlValue): string | undefined {
  if (typeof value !== "object") return scalar(value);
  if (Array.isArray(value)) {
    const items = (value as readonly YamlValue[]).map((item) => (typeof item === "object" ? undefined : scalar(item)));
    return items.every((item) => item !== undefined) ? `[${items.join(", ")}]` : undefined;
  }
  const items = Object.entries(value).map(([key, item]) => {
    const short = inline(item as YamlValue);
    return short === undefined || key === MERGE ? undefined : `${scalar(key)}: ${short}`;
  });
  if (items.length === 0) return "{}";
  return items.every((item) => item !== undefined) ? `{ ${items.join(", ")} }` : undefined;
}

function scalar(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  if (value === MERGE || value.startsWith("*")) return value;
  return PLAIN.test(value) && !RESERVED.test(value) ? value : JSON.stringify(value);
}
