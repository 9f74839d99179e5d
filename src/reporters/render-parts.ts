import { byteLength } from "../text/cut.ts";

/** Text folded away behind a line of its own. */
export function details(title: string, text: string): string {
  return `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;
}

/** A titled list of as many items as fit, with the number of those that do not; nothing for no items. */
export function section<T>(
  title: string,
  items: readonly T[],
  line: (item: T) => string,
  maxBytes: number,
): string[] {
  if (items.length === 0) return [];
  const shown = fitting(each(items, line), maxBytes);
  const rest = items.length - shown.length;
  const list = [...shown, ...(rest > 0 ? [`- and ${rest} more`] : [])].join("\n");
  return [title === "" ? list : `${title}\n\n${list}`];
}

/** One by one, because of thousands only the first have room. */
function* each<T>(items: readonly T[], line: (item: T) => string): Generator<string> {
  for (const item of items) yield line(item);
}

/** The first parts that fit together, with what joins them; none after one that does not is even looked at. */
export function fitting(parts: Iterable<string>, maxBytes: number): string[] {
  const fit: string[] = [];
  let left = maxBytes;
  for (const part of parts) {
    left -= byteLength(part) + 8;
    if (left < 0) break;
    fit.push(part);
  }
  return fit;
}
