/** What helmet would set and a JSON service needs: names and values in turn. Answers about money are never cached. */
export const SAFE_HEADERS: readonly string[] = [
  "Cache-Control",
  "no-store",
  "X-Content-Type-Options",
  "nosniff",
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
];
