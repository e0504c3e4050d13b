/** Style of the documentation page; follows the reader's light or dark setting. */
export const DOCS_STYLE = `
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6675;--line:#dfe4ea;--paper:#fff;--side:#f5f7f9;--code:#eef2f6;--link:#0b62c4}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--soft:#98a4b3;--line:#303844;--paper:#14181e;--side:#1a2028;--code:#222a34;--link:#6fb1ff}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;display:grid;grid-template-columns:18rem minmax(0,1fr);font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.25rem 1rem;background:var(--side);border-right:1px solid var(--line)}
nav h1{font-size:1.05rem;margin:0 0 .75rem}nav h3{font-size:.72rem;text-transform:uppercase;letter-spacing:.08em;color:var(--soft);margin:1.2rem 0 .3rem}
nav ul{list-style:none;margin:0;padding:0}nav a{display:block;padding:.2rem .4rem;border-radius:6px;color:inherit;text-decoration:none}
nav a:hover{background:var(--code)}
main{max-width:62rem;padding:2rem 2.5rem 6rem}header{margin-bottom:2rem}h1 small{font-weight:400;color:var(--soft);font-size:1rem}
section{border-top:1px solid var(--line);padding:1.6rem 0}section.schema{border-top:1px dashed var(--line);padding:1rem 0}
h2{font-size:1.2rem;margin:0 0 .5rem}h3{margin:.2rem 0 .4rem}h4{margin:1.1rem 0 .35rem;font-size:.78rem;text-transform:uppercase;letter-spacing:.06em;color:var(--soft)}
a{color:var(--link)}code{font:.88em ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--code);padding:.08em .35em;border-radius:4px;overflow-wrap:anywhere}
.path code{font-size:.95rem;background:none;padding:0}small{color:var(--soft);overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse;font-size:.93em}td{border-bottom:1px solid var(--line);padding:.4rem .6rem .4rem 0;vertical-align:top}
td:first-child code{white-space:nowrap;overflow-wrap:normal}pre{background:var(--code);padding:.8rem 1rem;border-radius:8px;overflow:auto;font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
table table{margin-top:.3rem;font-size:.95em}tr:last-child>td{border-bottom:0}
b.GET,b.POST,b.PATCH{display:inline-block;min-width:3.1rem;text-align:center;font:600 .7rem/1.5 ui-monospace,monospace;border-radius:4px;padding:.05rem .35rem;color:#fff}
b.GET{background:#2470b8}b.POST{background:#21804a}b.PATCH{background:#9a6414}b.ok{color:#21804a}b.bad{color:#b4472f}
@media(max-width:52rem){body{display:block}nav{position:static;height:auto;border-right:0}main{padding:1.25rem}}
`.trim();
