import { dataFormatOf } from "../../analyzers/data-formats.ts";
import { blockLines } from "./block-lines.ts";
import { lexisOf } from "./lexis.ts";
import type { Overlay } from "./overlay.ts";

const node = /^\s*(?:-(?:\s|$)|\?\s|[#[\]{}"'&*!]|---|\.\.\.|[^\s#,[\]{}&*!|>%@`"'][^#]*?:(?:\s|$))/;
const key = /^\s*(?:-\s+)*([\w."'/-]+):(.*)$/;

/** Why lines of a suggestion are no YAML like those they replace, although YAML takes nearly anything for a text. */
export function strangeYaml(overlay: Overlay): string | null {
  if (dataFormatOf(overlay.path) !== "YAML") return null;
  const { before, after, start, oldEnd, newEnd } = overlay;
  const [old, now] = [
    nodesOf(before, start, oldEnd, overlay.path),
    nodesOf(after, start, newEnd, overlay.path),
  ];
  const plain = (nodes: readonly Node[]) => nodes.some(({ line }) => !node.test(line));
  if (plain(now) && !plain(old)) return "it is no YAML like the lines it replaces";
  const documents = (nodes: readonly Node[]) =>
    nodes.filter(({ line }) => /^(?:---|\.\.\.)(?:\s|$)/.test(line)).length;
  if (documents(now) !== documents(old)) return "it would divide the file into other documents";
  if (losesAnchor(overlay)) return "an anchor that is used elsewhere would be gone";
  const valued = new Set(old.flatMap(({ line, hasValue }) => (hasValue ? [key.exec(line)?.[1]] : [])));
  const isLost = ({ line, hasValue }: Node) => !hasValue && valued.has(key.exec(line)?.[1]);
  return now.some((one) => isLost(one) && key.test(one.line)) ? "a key would lose its value" : null;
}

interface Node {
  line: string;
  /** Whether a key has something behind or under it. */
  hasValue: boolean;
}

function nodesOf(lines: readonly string[], start: number, end: number, path: string): Node[] {
  const blocks = blockLines(lines, lexisOf(path));
  const heads = new Set(blocks.map(({ parent }) => parent?.at));
  return blocks.flatMap(({ at, part, isText }) => {
    const line = lines[at] ?? "";
    if (at < start || at >= end || isText || part === 1) return [];
    const behind = (key.exec(line)?.[2] ?? "").replace(/#.*|[|>][+-]?\d?[+-]?\s*$/, "");
    return [{ line, hasValue: heads.has(at) || behind.trim() !== "" }];
  });
}

function losesAnchor({ before, after, start, oldEnd }: Overlay): boolean {
  const lost = [
    ...before
      .slice(start, oldEnd)
      .join("\n")
      .matchAll(/(?<=\s)&([\w-]+)/g),
  ].map(([, name]) => name);
  if (lost.length === 0) return false;
  const text = after.join("\n");
  const names = (mark: RegExp) => new Set([...text.matchAll(mark)].map(([, name]) => name));
  const [anchors, aliases] = [names(/(?<=\s)&([\w-]+)/g), names(/(?<=\s)\*([\w-]+)/g)];
  return lost.some((name) => aliases.has(name) && !anchors.has(name));
}
