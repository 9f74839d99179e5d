import { count, fitting, showPath } from "./show.ts";
import type { Rendered } from "./tool.ts";

export interface SizedEntry {
  path: string;
  is_dir: boolean;
  /** Null for folders, links, submodules, and files too large to be read. */
  size: number | null;
}
/** What `list_files` answers. */
export type Listing = string[] | SizedEntry[];

/** Entries under the folder they are in, so that a folder's name stands there once. */
function treeOf(output: Listing): string[] {
  const folders = new Map<string, string[]>();
  for (const one of output) {
    const path = typeof one === "string" ? one : one.path;
    const size = typeof one === "string" || one.size === null ? "" : ` ${one.size}`;
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const names = folders.get(folder) ?? [];
    names.push(`${showPath(path.slice(folder.length))}${size}`);
    folders.set(folder, names);
  }
  const ordered = [...folders].sort(([left], [right]) => (left < right ? -1 : 1));
  return ordered.flatMap(([folder, names]) =>
    folder === "" ? names : [showPath(folder), ...names.map((name) => `  ${name}`)],
  );
}

/** A listing for the model, at most `maxBytes` of it. */
export function renderListing(
  output: Listing,
  input: { directory: string; pattern?: string | undefined },
  maxBytes: number,
): Rendered {
  if (output.length === 0) {
    const matching = input.pattern === undefined ? "" : ` that matches '${input.pattern}'`;
    return { text: `Nothing in '${input.directory}'${matching}.` };
  }
  const lines = treeOf(output);
  const shown = fitting(lines, maxBytes - 128);
  if (shown === lines.length) return { text: lines.join("\n") };
  const rest = `(${count(lines.length - shown, "further line")}; list a folder of it, or set depth or pattern)`;
  return { text: [...lines.slice(0, shown), rest].join("\n"), truncated: true };
}
