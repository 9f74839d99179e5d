/** The style sheet of all pages. Each pair of text and ground has a contrast of at least 4.5 (WCAG AA). */
export const style = `
:root{color-scheme:light dark;--ground:#fff;--raised:#f6f8fa;--text:#1f2328;--dim:#59636e;--line:#d1d9e0;--link:#0860c4;--focus:#0860c4;
--good:#116329;--good-ground:#dafbe1;--bad:#a40e26;--bad-ground:#ffebe9;--warn:#7d4e00;--warn-ground:#fff3c4;--busy:#0550ae;--busy-ground:#ddf4ff;
--calm:#4d5660;--calm-ground:#eaeef2;--mark:#1f7a4d;
--series-1:#0860c4;--series-2:#b35900;--series-3:#116329;--series-4:#8250df;--series-5:#a40e26}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--raised:#161b22;--text:#e6edf3;--dim:#9aa4af;--line:#30363d;--link:#6cb0ff;--focus:#79c0ff;
--good:#6fdd8b;--good-ground:#12261a;--bad:#ff9a92;--bad-ground:#35161a;--warn:#edc35c;--warn-ground:#2c2310;--busy:#9ecbff;--busy-ground:#12233a;
--calm:#b3bcc6;--calm-ground:#21262d;--mark:#3fb27f;
--series-1:#6cb0ff;--series-2:#f0a35e;--series-3:#6fdd8b;--series-4:#c8a5ff;--series-5:#ff9a92}}
*{box-sizing:border-box}
html{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;background:var(--ground);color:var(--text)}
body{margin:0;overflow-wrap:break-word}
a{color:var(--link);text-underline-offset:.15em}
a:not(:hover){text-decoration-thickness:1px;text-decoration-color:color-mix(in srgb,currentcolor 40%,transparent)}
:focus-visible,input:focus-within{outline:2px solid var(--focus);outline-offset:2px;border-radius:3px}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap;padding:0}
.skip{position:absolute;left:-200vw}.skip:focus{left:.5rem;top:.5rem;background:var(--ground);padding:.5rem;z-index:1}
body>header{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1.5rem;padding:.5rem 1.5rem;background:var(--raised);border-bottom:1px solid var(--line)}
body>header ul{display:flex;flex-wrap:wrap;gap:.25rem;list-style:none;margin:0;padding:0}
body>header nav a{display:block;padding:.35rem .6rem;border-radius:.4rem;color:var(--text);text-decoration:none}
body>header nav a:hover{background:var(--calm-ground)}
body>header nav a[aria-current]{font-weight:600;box-shadow:inset 0 -2px 0 var(--mark);border-radius:.4rem .4rem 0 0}
.brand{font-weight:700;letter-spacing:-.01em}
.brand::before{content:"";display:inline-block;width:12px;height:12px;margin-right:7px;vertical-align:-1px;border-radius:50%;border:3px solid var(--mark)}
body>header form{margin-left:auto;display:flex;align-items:center;gap:.6rem;color:var(--dim)}
main,body>footer{max-width:82rem;margin:0 auto;padding:1rem 1.5rem 2rem}
body>footer{padding-top:0;color:var(--dim);font-size:.87rem}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 1rem;letter-spacing:-.01em}
h2{font-size:1.1rem;margin:2rem 0 .6rem}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
p{margin:.5rem 0}
.dim,.note{color:var(--dim)}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.87em}
pre{margin:.5rem 0;padding:.6rem .8rem;background:var(--raised);border:1px solid var(--line);border-radius:.4rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;width:100%;font-size:.93rem}
caption{text-align:left;color:var(--dim);padding:.2rem 0 .5rem;font-size:.93rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line);font-weight:400}
thead th{font-weight:600;color:var(--dim);font-size:.85rem;white-space:nowrap;background:var(--raised);border-top:1px solid var(--line)}
thead th.number{white-space:normal}
th.number,td.number{padding-left:.3rem;padding-right:.3rem;text-align:right;font-variant-numeric:tabular-nums}
td.number{white-space:nowrap}
td time,th time{white-space:nowrap;font-variant-numeric:tabular-nums}
tbody tr:hover{background:var(--raised)}
.sub{display:block;color:var(--dim);font-size:.87rem;overflow-wrap:anywhere}
.badge{display:inline-block;padding:.05rem .5rem;border-radius:1rem;font-size:.82rem;font-weight:600;white-space:nowrap;border:1px solid transparent}
.good{color:var(--good);background:var(--good-ground)}.bad{color:var(--bad);background:var(--bad-ground)}.warn{color:var(--warn);background:var(--warn-ground)}
.busy{color:var(--busy);background:var(--busy-ground)}.calm{color:var(--calm);background:var(--calm-ground)}
.filters{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;padding:.8rem;background:var(--raised);border:1px solid var(--line);border-radius:.5rem;margin:0 0 1rem}
.filters label{display:flex;flex-direction:column;font-size:.85rem;color:var(--dim);gap:.15rem;flex:0 1 auto}
input,select,button,textarea{font:inherit;color:var(--text);background:var(--ground);border:1px solid var(--dim);border-radius:.4rem;padding:.3rem .5rem;max-width:100%}
.filters input,.filters select{font-size:.93rem;width:8.6rem;height:2.2rem}
.filters button{height:2.2rem}
.filters input[type=search],.filters input[name=repository]{width:12rem}
button,.button{cursor:pointer;font-weight:600;padding:.35rem .8rem;background:var(--calm-ground);border-color:var(--dim)}
button:hover{border-color:var(--text)}
body>header button{font-weight:400;background:none;border-color:var(--line);padding:.2rem .6rem}
.pager ul{display:flex;flex-wrap:wrap;gap:1.2rem;list-style:none;padding:0;margin:1rem 0}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.6rem 1.2rem;margin:.5rem 0 1rem}
.facts dt{color:var(--dim);font-size:.85rem}.facts dd{margin:0;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.8rem;margin:.5rem 0 1rem;padding:0;list-style:none}
.card{border:1px solid var(--line);border-radius:.5rem;padding:.7rem .9rem;background:var(--raised)}
.card strong{display:block;font-size:1.35rem;white-space:nowrap;line-height:1.3;font-variant-numeric:tabular-nums}
.finding{border:1px solid var(--line);border-left:.25rem solid var(--dim);border-radius:.4rem;padding:.6rem .9rem;margin:.8rem 0}
.finding.critical,.finding.high{border-left-color:var(--bad)}.finding.medium{border-left-color:var(--warn)}
.finding h3{margin:0 0 .3rem}.prose{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
details{margin:.4rem 0}summary{cursor:pointer;padding:.2rem 0}details>:not(summary){margin-left:1rem}
ul.plain{list-style:none;padding:0;margin:.3rem 0}ul.plain>li{padding:.25rem 0;border-bottom:1px solid var(--line)}
.notice{border-left:.25rem solid var(--warn);background:var(--warn-ground);color:var(--text);padding:.5rem .9rem;border-radius:0 .4rem .4rem 0}
.empty{padding:1.5rem;text-align:center;color:var(--dim);border:1px dashed var(--line);border-radius:.5rem}
.steps{list-style:none;padding:0;margin:1.2rem 0;max-width:46rem}
.steps>li{border:1px solid var(--line);border-left:.3rem solid var(--dim);border-radius:.5rem;padding:.9rem 1.1rem;margin:0 0 .9rem;overflow-wrap:anywhere}
.steps>.done{border-left-color:var(--good)}.steps>.attention{border-left-color:var(--warn)}.steps>.missing{border-left-color:var(--bad)}.steps>.next{border-left-color:var(--link)}
.steps h2{margin:0;display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline;justify-content:space-between}
.steps .state{font-size:.87rem;color:var(--dim)}.steps .done .state{color:var(--good)}.steps .attention .state{color:var(--warn)}
.steps .missing .state,.problem{color:var(--bad)}.steps .next .state{color:var(--link)}
.steps code{background:var(--raised);border:1px solid var(--line);border-radius:.3rem;padding:.05rem .3rem}
.steps label{display:block;font-weight:600}.steps label.check{font-weight:400}.steps input:not([type=checkbox]){width:100%;max-width:28rem}
.steps small{display:block;color:var(--dim);font-size:.87rem;margin-top:.25rem}
.steps dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:.8rem 0}.steps dt{color:var(--dim)}.steps dd{margin:0}
button.primary{color:#fff;background:#116329;border-color:#116329}.steps button.primary{margin:0 .75rem .5rem 0}
svg text{fill:var(--text);font:12px system-ui,sans-serif}
@media(max-width:640px){body{overflow-wrap:anywhere}.badge{white-space:normal}main,body>header,body>footer{padding-left:.9rem;padding-right:.9rem}body>header form{margin-left:0}
.filters label{flex:1 1 45%;min-width:0}.filters textarea,.filters input,.filters select,.filters input[type=search],.filters input[name=repository]{width:100%}
table,tbody,tr,th,td{display:block}thead{position:absolute;left:-200vw}caption{display:block}
tbody tr{border:1px solid var(--line);border-radius:.5rem;margin:.6rem 0;padding:.3rem .7rem}
tbody th,tbody td,tbody td.number,tbody th.number{display:grid;grid-template-columns:7.5rem 1fr;gap:.5rem;text-align:left;border:0;padding:.18rem 0;white-space:normal}
tbody td::before,tbody th::before{content:attr(data-name);color:var(--dim);font-size:.87rem;grid-column:1;grid-row:1}
tbody td:empty{display:none}}
@media print{:root{color-scheme:light;--ground:#fff;--raised:#fff;--text:#000;--dim:#333;--line:#999;--link:#000}
body>header,.filters,.pager,.skip{display:none}main{max-width:none;padding:0}.scroll{overflow:visible}thead{display:table-header-group}tr,.finding,.card{break-inside:avoid}
a{text-decoration:none}}
@media(prefers-reduced-motion:no-preference){:focus-visible{transition:outline-offset .1s}}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr));gap:1rem 1.5rem;margin:1rem 0}
.chart{margin:0;border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}
.chart figcaption{color:var(--dim);font-size:.87rem}
.chart svg{display:block;width:100%;height:auto}
.chart .axis{stroke:var(--line);stroke-width:1}
.chart .tick{fill:var(--dim);font-size:11px}
.chart .area{fill:transparent}.chart a:hover .area{fill:var(--text);fill-opacity:.06}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;margin:.3rem 0 0;padding:0}
.swatch{display:inline-block;width:.75em;height:.75em;border-radius:.15em;margin-right:.35em}
.series-1{fill:var(--series-1);background:var(--series-1)}.series-2{fill:var(--series-2);background:var(--series-2)}
.series-3{fill:var(--series-3);background:var(--series-3)}.series-4{fill:var(--series-4);background:var(--series-4)}
.series-5{fill:var(--series-5);background:var(--series-5)}.series-6{fill:var(--dim);background:var(--dim)}
.story{font-size:1.05rem;max-width:60rem}
.meanings{max-width:60rem}.meanings dt{font-weight:600}.meanings dd{margin:0 0 .5rem}
`;
