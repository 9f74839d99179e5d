import { type Html, html } from "./html.ts";
import { short } from "./parts.ts";

/*
 * Charts as SVG, drawn on the server. Each has the same numbers in a table on its page, so programs that read pages aloud are only
 * told its caption, and its links are for pointers alone.
 */

interface Bar {
  /** Below the bar: a week. */
  label: string;
  /** Of the bar, in full. */
  title: string;
  /** The parts from the bottom to the top, one for each series. */
  values: readonly number[];
  href: string;
}

interface BarChart {
  /** What the picture shows, as one sentence. */
  name: string;
  series: readonly { name: string; color: 1 | 2 | 3 | 4 | 5 | 6 }[];
  bars: readonly Bar[];
  /** A value at the axis and above bars. */
  format?: (value: number) => string;
}

/** The part of the style sheet for charts. */
export const chartStyle = `
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

const size = { width: 720, height: 220, left: 44, right: 8, top: 14, bottom: 26 };

/** Stacked bars, each a link to what it counts. */
export function barChart({ name, series, bars, format = short }: BarChart): Html {
  const { width, height, left, right, top, bottom } = size;
  const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
  const most = niceMaximum(Math.max(0, ...bars.map(({ values }) => sum(values))));
  const [plotWidth, plotHeight] = [width - left - right, height - top - bottom];
  const y = (value: number) => top + plotHeight * (1 - value / most);
  const step = plotWidth / Math.max(1, bars.length);
  const barWidth = Math.min(46, step * 0.72);
  const everyNth = Math.max(1, Math.ceil(bars.length / 13));
  return html`<figure class="chart"><svg viewBox="0 0 ${width} ${height}" aria-hidden="true">
${[0, most / 2, most].map(
  (value) =>
    html`<line x1="${left}" x2="${width - right}" y1="${round(y(value))}" y2="${round(y(value))}" class="axis"></line><text x="${left - 6}" y="${round(y(value) + 4)}" text-anchor="end" class="tick">${format(value)}</text>`,
)}
${bars.map(({ label, title, values, href }, at) => {
  const x = left + step * at + (step - barWidth) / 2;
  let below = 0;
  const parts = values.map((value, index) => {
    const from = below;
    below += value;
    return value > 0
      ? html`<rect x="${round(x)}" y="${round(y(below))}" width="${round(barWidth)}" height="${round(y(from) - y(below))}" class="series-${series[index]?.color ?? 1}"></rect>`
      : null;
  });
  return html`<a href="${href}" tabindex="-1"><title>${title}</title>${parts}<rect x="${round(left + step * at)}" y="${top}" width="${round(step)}" height="${plotHeight}" class="area"></rect></a>${
    at % everyNth === 0 &&
    html`<text x="${round(x + barWidth / 2)}" y="${height - 8}" text-anchor="middle" class="tick">${label}</text>`
  }`;
})}
</svg><figcaption>${name}${series.length > 1 && html`<ul class="legend">${series.map(({ name, color }) => html`<li><span class="swatch series-${color}"></span>${name}</li>`)}</ul>`}</figcaption></figure>`;
}

const round = (value: number) => String(Math.round(value * 10) / 10);

/** The next of 1, 2, 4, 5, 8 or 10 times a power of ten, so that half of it is round, too. */
function niceMaximum(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const times = [1, 2, 4, 5, 8, 10].find((one) => one * power >= value) ?? 10;
  return times * power;
}
