import type { Curve, Dimension, RecordedScale } from "../figures.ts";

/** Pixels. */
const PANEL = { width: 480, height: 270, left: 62, right: 168, top: 40, bottom: 46 };
const plot = {
  width: PANEL.width - PANEL.left - PANEL.right,
  height: PANEL.height - PANEL.top - PANEL.bottom,
};
/** The distance of two labels. */
const LINE = 13;
/** Readable on white and on black. */
const INK = "#7b8490";
const colours = ["#2f81f7", "#d9730d", "#1a9c4b", "#a855f7", "#e5484d", "#0e9aa7"];

const units = { s: "seconds", MB: "megabytes" };

/** A row for each dimension: its times on the left, its memory and disk on the right. Both axes are logarithmic. */
export function drawScale(scale: RecordedScale): string {
  const rows = Object.values(scale);
  const [width, height] = [2 * PANEL.width, rows.length * PANEL.height + 24];
  const panels = rows.flatMap((dimension, row) =>
    (["s", "MB"] as const).map((unit, column) =>
      group(column * PANEL.width, row * PANEL.height, panel(dimension, unit)),
    ),
  );
  const note =
    "Both axes are logarithmic. The dotted line grows in proportion: what is flatter grows more slowly, what is steeper faster.";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="Helvetica, Arial, sans-serif" font-size="11" fill="${INK}" role="img">`,
    "<title>How time, memory and disk grow with each size</title>",
    ...panels,
    text(PANEL.left, height - 8, note),
    "</svg>\n",
  ].join("\n");
}

function panel({ title, axis, curves }: Dimension, unit: Curve["unit"]): string {
  const shown = curves.filter((curve) => curve.unit === unit && curve.points.length > 0);
  if (shown.length === 0) return "";
  const points = shown.flatMap((curve) => curve.points);
  const x = scaleOf(
    points.map(([size]) => size),
    plot.width,
    0,
  );
  const y = scaleOf(
    points.map(([, value]) => Math.max(value, SMALLEST)),
    plot.height,
    PAD,
  );
  const at = ([size, value]: readonly [number, number]) =>
    [PANEL.left + x.place(size), PANEL.top + plot.height - y.place(Math.max(value, SMALLEST))] as const;
  const sizes = [...new Set(points.map(([size]) => size))].toSorted((a, b) => a - b);
  const bottom = PANEL.top + plot.height;
  return [
    `<text x="${PANEL.left}" y="18" font-size="13" font-weight="bold">${escapeText(title)}: ${units[unit]}</text>`,
    ...y.ticks.map((value) => {
      const [, height] = at([x.from, value]);
      return (
        line(PANEL.left, height, PANEL.left + plot.width, height, 'stroke-opacity="0.25"') +
        text(PANEL.left - 6, height + 4, value.toLocaleString("en", { maximumFractionDigits: 3 }), "end")
      );
    }),
    ...sizes.map((size) => {
      const [place] = at([size, y.from]);
      return (
        line(place, bottom, place, bottom + 4, "") +
        text(place, bottom + 16, size.toLocaleString("en"), "middle")
      );
    }),
    text(PANEL.left + plot.width / 2, bottom + 32, axis, "middle"),
    proportion(x, y),
    ...labelled(shown, at),
  ].join("\n");
}

const SMALLEST = 0.001;
/** The share of a vertical range that is added at each end. */
const PAD = 0.08;

interface Scale {
  from: number;
  /** Pixels per decade. */
  decade: number;
  ticks: number[];
  place(value: number): number;
}

/** A logarithmic axis of so many pixels. A range below a decade is widened to one, so that noise does not look like growth. */
function scaleOf(values: readonly number[], pixels: number, pad: number): Scale {
  let [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
  const missing = Math.max(0, 1 - (high - low));
  if (pad > 0 || high === low) [low, high] = [low - missing / 2, high + missing / 2];
  const more = (high - low) * pad;
  [low, high] = [low - more, high + more];
  const decade = pixels / (high - low);
  const ticks: number[] = [];
  const steps = high - low > 2.2 ? [1] : [1, 2, 5];
  for (let power = Math.floor(low); power <= high; power++) {
    for (const step of steps) {
      const tick = Number((step * 10 ** power).toPrecision(1));
      if (Math.log10(tick) >= low && Math.log10(tick) <= high) ticks.push(tick);
    }
  }
  return { from: 10 ** low, decade, ticks, place: (value) => (Math.log10(value) - low) * decade };
}

/** A line that rises by a decade in a decade, as far as it fits. */
function proportion(x: Scale, y: Scale): string {
  const decades = Math.min(plot.width / x.decade, plot.height / y.decade);
  const [left, bottom] = [PANEL.left, PANEL.top + plot.height];
  return line(
    left,
    bottom,
    left + decades * x.decade,
    bottom - decades * y.decade,
    'stroke-dasharray="1 4" stroke-opacity="0.8"',
  );
}

type At = (point: readonly [number, number]) => readonly [number, number];

/** The curves, each with its name beside its last point; names keep a distance. */
function labelled(curves: readonly Curve[], at: At): string[] {
  const ends = curves.map((curve, index) => {
    const places = curve.points.map(at);
    const [endX, endY] = places.at(-1) ?? [0, 0];
    return { curve, places, endX, endY, colour: colours[index % colours.length] ?? INK };
  });
  let free = Number.NEGATIVE_INFINITY;
  const highest = PANEL.top + plot.height - (ends.length - 1) * LINE;
  return ends
    .toSorted((a, b) => a.endY - b.endY)
    .map(({ curve, places, endX, endY, colour }, order) => {
      const labelY = Math.max(free, Math.min(endY, highest + order * LINE));
      free = labelY + LINE;
      const labelX = PANEL.left + plot.width + 10;
      return [
        `<polyline points="${places.map((place) => place.map(pixel).join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...places.map(([x, y]) => `<circle cx="${pixel(x)}" cy="${pixel(y)}" r="2.5" fill="${colour}"/>`),
        `<path d="M${pixel(endX + 3)} ${pixel(endY)}L${pixel(labelX - 2)} ${pixel(labelY)}" stroke="${colour}" stroke-opacity="0.4"/>`,
        `<text x="${pixel(labelX)}" y="${pixel(labelY + 4)}" fill="${colour}">${escapeText(curve.name)}</text>`,
      ].join("\n");
    });
}

const pixel = (value: number) => String(Math.round(value * 10) / 10);
const group = (x: number, y: number, inner: string) => `<g transform="translate(${x} ${y})">\n${inner}\n</g>`;
const escapeText = (value: string) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const text = (x: number, y: number, value: string, anchor = "start") =>
  `<text x="${pixel(x)}" y="${pixel(y)}" text-anchor="${anchor}">${escapeText(value)}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number, more: string) =>
  `<line x1="${pixel(x1)}" y1="${pixel(y1)}" x2="${pixel(x2)}" y2="${pixel(y2)}" stroke="${INK}" ${more}/>`;
