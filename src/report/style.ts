/** The page's only style. Ends differ by sign, word and pattern as well as by colour. */
import { Html } from './html.js';

export const STYLE = Html.made(`
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#d0d7de;--soft:#f3f5f7;
--ok:#1a7f37;--okbg:#dafbe1;--bad:#b42318;--badbg:#ffe4e1;--warn:#8a5a00;--warnbg:#fff1cc;--run:#0b5cad;--runbg:#dbecff}
@media (prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e6e9ed;--dim:#9aa4af;--line:#343c46;--soft:#181e25;
--ok:#5fd37f;--okbg:#10331c;--bad:#ff8f85;--badbg:#451a17;--warn:#f0bf4c;--warnbg:#3a2c07;--run:#7db8ff;--runbg:#10294a}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:75rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0;display:inline}
a{color:inherit}code{font:.85em/1.4 ui-monospace,monospace}
.dim{color:var(--dim);font-size:.9em}
.note{border-left:4px solid var(--warn);background:var(--warnbg);padding:.5rem .75rem}
.badge{border:1px solid currentColor;border-radius:1em;padding:0 .5em;font-size:.85em;white-space:nowrap}
.succeeded{color:var(--ok)}.failed,.lost,.terminated{color:var(--bad)}.retry-wait,.on-hold,.released{color:var(--warn)}
.active,.running,.claiming{color:var(--run)}.cancelled,.blocked{color:var(--dim)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:.25rem 1.5rem;margin:.5rem 0}
dt{color:var(--dim);font-size:.85em}dd{margin:0}
.lanes{list-style:none;margin:0;padding:0}
.lanes li,.axis{display:grid;grid-template-columns:14rem 1fr;gap:.75rem;align-items:center;border-top:1px solid var(--line)}
.axis{border:0}.ticks{display:flex;justify-content:space-between;color:var(--dim);font-size:.8em}
.name{padding:.2rem 0}
.track{position:relative;height:1.9rem;background:var(--soft)}
.bar{position:absolute;top:.2rem;height:1.5rem;min-width:2.4em;padding:0 .3em;overflow:hidden;white-space:nowrap;font-size:.8rem;line-height:1.4rem;text-decoration:none;border:1.5px solid currentColor;background:var(--bg)}
.bar:focus-visible{outline:3px solid var(--run);z-index:2}
.bar.succeeded{background:var(--okbg)}
.bar.failed{background:var(--badbg);border-width:3px;line-height:1.2rem}
.bar.lost{background:repeating-linear-gradient(135deg,var(--badbg) 0 6px,var(--bg) 6px 12px);border-style:dashed}
.bar.released{background:var(--warnbg);border-style:dotted}
.bar.cancelled{background:repeating-linear-gradient(90deg,var(--soft) 0 6px,var(--bg) 6px 12px)}
.bar.running,.bar.claimed{background:var(--runbg);border-right-style:dashed}
.mark{position:absolute;top:.15rem;transform:translateX(-50%);z-index:1;color:var(--warn)}
.slot{border:1px solid var(--line);margin:.5rem 0;padding:.5rem .75rem;content-visibility:auto;contain-intrinsic-size:auto 3rem}
summary{cursor:pointer}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-size:.9em}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-top:1px solid var(--line)}
th{color:var(--dim);font-weight:600}
tr:target,.slot:target{outline:3px solid var(--run)}
@media (max-width:45rem){.lanes li,.axis{grid-template-columns:1fr}}
@media print{.slot{content-visibility:visible}}
`);
