import { createHash } from "node:crypto";
import type { Account } from "../../test/support/github-double/model.ts";
import { Html, html } from "./html.ts";

/** SVG strokes on a 16 by 16 grid. */
const strokes = {
  pull: '<circle cx="4" cy="3.5" r="1.75"/><circle cx="4" cy="12.5" r="1.75"/><circle cx="12" cy="12.5" r="1.75"/><path d="M4 5.25v5.5M12 10.75V5.5a2 2 0 0 0-2-2H8M9.75 1.5l-2 2 2 2"/>',
  eye: '<path d="M1 8c1.8-3.2 4.1-4.8 7-4.8s5.2 1.6 7 4.8c-1.8 3.2-4.1 4.8-7 4.8S2.8 11.2 1 8Z"/><circle cx="8" cy="8" r="1.8"/>',
  check: '<path d="m3 8.5 3.25 3.25L13 5"/>',
  cross: '<path d="m4 4 8 8M12 4l-8 8"/>',
  square: '<rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor"/>',
  clock: '<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>',
};

export function icon(name: keyof typeof strokes, size = 16): Html {
  return html`<svg class="icon" width="${size}" height="${size}" viewBox="0 0 16 16" aria-hidden="true">${new Html(strokes[name])}</svg>`;
}

/** The default picture of an account: a mirrored pattern of five by five squares from a hash of the name. */
export function avatar({ login, type }: Account, size: number): Html {
  const hash = createHash("sha256").update(login).digest();
  const fields = Array.from({ length: 25 }, (_, index) => {
    const [row, column] = [Math.floor(index / 5), index % 5];
    const isOn = ((hash[row * 3 + Math.min(column, 4 - column)] ?? 0) & 1) === 1;
    return html`${isOn ? new Html(`<path d="M${column} ${row}h1v1h-1z"/>`) : undefined}`;
  });
  const hue = Math.round(((hash[31] ?? 0) / 255) * 360);
  const shape = type === "Bot" ? "avatar bot" : "avatar";
  return html`<svg class="${shape}" width="${size}" height="${size}" viewBox="-0.75 -0.75 6.5 6.5" fill="hsl(${hue} 45% 55%)" shape-rendering="crispEdges" aria-hidden="true">${fields}</svg>`;
}
