// Reads which package mirror this machine uses, so that no mirror is ever named in this project.

/** One `deb` entry of the machine's apt configuration. */
export interface AptSource {
  readonly uri: string;
  readonly suites: readonly string[];
  readonly components: readonly string[];
}

/** Parses one apt source file by the form its name tells: deb822 (`.sources`) or one-line (`.list`). */
export function parseAptSources(fileName: string, text: string): AptSource[] {
  return fileName.endsWith(".sources") ? parseDeb822(text) : parseOneLine(text);
}

function parseDeb822(text: string): AptSource[] {
  const withoutComments = text
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n");
  return withoutComments.split(/\n\s*\n/).flatMap(parseStanza);
}

function parseStanza(stanza: string): AptSource[] {
  const fields = new Map<string, string>();
  let current = "";
  for (const line of stanza.split("\n")) {
    const named = /^([A-Za-z-]+)\s*:\s*(.*)$/.exec(line);
    if (named !== null) {
      current = (named[1] ?? "").toLowerCase();
      fields.set(current, named[2] ?? "");
    } else if (/^\s+\S/.test(line) && current !== "") {
      fields.set(current, `${fields.get(current)} ${line.trim()}`);
    }
  }
  const words = (name: string): string[] => (fields.get(name) ?? "").split(/\s+/).filter((word) => word !== "");
  const enabled = !/^(no|false|0|off)$/i.test((fields.get("enabled") ?? "yes").trim());
  if (!enabled || !words("types").includes("deb")) return [];
  return words("uris").map((uri) => ({ uri, suites: words("suites"), components: words("components") }));
}

function parseOneLine(text: string): AptSource[] {
  return text.split("\n").flatMap((raw) => {
    const line = raw.replace(/#.*$/, "").trim();
    const match = /^deb\s+(?:\[[^\]]*\]\s*)?(\S+)\s+(\S+)\s*(.*)$/.exec(line);
    if (match === null) return [];
    const components = (match[3] ?? "").split(/\s+/).filter((word) => word !== "");
    return [{ uri: match[1] ?? "", suites: [match[2] ?? ""], components }];
  });
}

/** What of a distribution the recipe needs: the suite that carries a new enough MySQL, and how it is signed. */
export interface Distribution {
  readonly id: "debian" | "ubuntu";
  readonly codename: string;
  readonly suite: string;
  readonly components: string;
  readonly keyrings: readonly string[];
}

/** Recognises Debian and Ubuntu (and what calls itself like one of them) from the text of os-release. */
export function parseDistribution(osRelease: string): Distribution | undefined {
  const value = (name: string): string =>
    (new RegExp(`^${name}=(.*)$`, "m").exec(osRelease)?.[1] ?? "").replace(/^["']|["']$/g, "");
  const ids = [value("ID"), ...value("ID_LIKE").split(/\s+/)];
  if (ids.includes("ubuntu")) {
    return {
      id: "ubuntu",
      codename: value("UBUNTU_CODENAME") || value("VERSION_CODENAME"),
      suite: "devel",
      components: "main universe",
      keyrings: ["/usr/share/keyrings/ubuntu-archive-keyring.gpg"],
    };
  }
  if (!ids.includes("debian")) return undefined;
  return {
    id: "debian",
    codename: value("VERSION_CODENAME"),
    suite: "sid",
    components: "main",
    keyrings: ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"],
  };
}

/**
 * The distribution's own mirrors among the machine's sources, likeliest first. Security mirrors and other vendors'
 * repositories carry no other suites of the distribution, so they are left out.
 */
export function distributionMirrors(sources: readonly AptSource[], distribution: Distribution): string[] {
  const releaseNames = new Set([distribution.codename, "stable", "testing", "unstable", "sid", "devel"]);
  const own = sources.filter(
    (source) =>
      source.components.includes("main") &&
      !/security/.test(source.uri) &&
      source.suites.some((suite) => releaseNames.has(suite.replace(/-(updates|backports)$/, ""))) &&
      !source.uri.startsWith("cdrom:"),
  );
  const named = (source: AptSource): number => (source.uri.includes(distribution.id) ? 0 : 1);
  const ordered = own.toSorted((a, b) => named(a) - named(b));
  return [...new Set(ordered.map((source) => source.uri))];
}
