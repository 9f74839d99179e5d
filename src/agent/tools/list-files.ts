import { z } from "zod";
import { isUnreadable } from "../../core/errors.ts";
import { count } from "../../core/text/count.ts";
import { createPathMatcher } from "../../repo/diff/paths.ts";
import type { TreeEntry } from "../../repo/git/workspace.ts";
import { fitting, showPath, unreadNotes } from "../../repo/show.ts";
import { resolveFolder } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type Executed, type Rendered, type ToolContext } from "./tool.ts";

interface SizedEntry {
  path: string;
  is_dir: boolean;
  /** Null for folders, links, submodules, and files that are too large to read. */
  size: number | null;
}
type Listing = string[] | SizedEntry[];

/** Entries below their folder, so that each folder's name is shown once. */
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

function renderListing(
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

/** Maximum entries with a size, because sizes are read one by one. */
const MAX_SIZES = 1_000;

const MAX_PATTERN = 500;

const Input = z.strictObject({
  directory: z.string().default("."),
  pattern: z.string().max(MAX_PATTERN).optional().describe("gitignore-style glob: '*.ts', 'src/**/test'."),
  type: z.enum(["file", "directory", "any"]).default("file"),
  depth: wholeNumber(1).optional().describe("Levels; 1 is the folder alone."),
  show_hidden: z.boolean().default(true).describe("Dot files too."),
  with_size: z.boolean().default(false).describe(`In bytes, for the first ${MAX_SIZES}.`),
});
type Input = z.infer<typeof Input>;

interface Item {
  path: string;
  entry: TreeEntry | null;
}

/** All folders below `prefix` on the way to the entry, and the entry itself. */
function itemsOf(entry: TreeEntry, prefix: string): Item[] {
  const items: Item[] = [];
  let slash = entry.path.indexOf("/", prefix.length);
  for (; slash >= 0; slash = entry.path.indexOf("/", slash + 1)) {
    items.push({ path: entry.path.slice(0, slash), entry: null });
  }
  items.push({ path: entry.path, entry });
  return items;
}

function createSelector(input: Input, prefix: string): (item: Item) => boolean {
  const inverted = input.pattern?.startsWith("!") ?? false;
  const pattern = inverted ? input.pattern?.slice(1) : input.pattern;
  const match = pattern === undefined ? undefined : createPathMatcher([pattern]);
  return ({ path, entry }) => {
    if (input.type !== "any" && (entry === null) !== (input.type === "directory")) return false;
    const below = path.slice(prefix.length);
    const segments = below.split("/");
    if (input.depth !== undefined && segments.length > input.depth) return false;
    if (!input.show_hidden && segments.some((segment) => segment.startsWith("."))) return false;
    if (!match) return true;
    const slash = entry === null ? "/" : "";
    return (match(below + slash).matched || match(path + slash).matched) !== inverted;
  };
}

async function sizeOf(
  { path, entry }: Item,
  { workspace }: ToolContext,
  unread: Set<string>,
): Promise<SizedEntry> {
  const sized = { path, is_dir: entry === null };
  if (!entry?.mode.startsWith("100")) return { ...sized, size: null };
  const bytes = await workspace.readBytes(entry.oid).catch((error: unknown) => {
    if (isUnreadable(error)) unread.add(path);
    return null;
  });
  return { ...sized, size: bytes?.length ?? null };
}

/** What a folder has, and the number of its files that the configuration withholds. */
async function gather(input: Input, context: ToolContext) {
  const folder = await resolveFolder(input.directory, context);
  const prefix = folder === "" ? "" : `${folder}/`;
  const wanted = createSelector(input, prefix);
  const tree = await context.workspace.tree("head");
  const below = [...tree.values()].filter((entry) => entry.path.startsWith(prefix));
  const visible = below.filter((entry) => !context.isPrivate(entry.path));
  // In git's order, as the tree is: a folder comes where its first file does, so `a b/` before `a/`.
  const items = new Map<string, Item>();
  for (const entry of visible) {
    for (const item of itemsOf(entry, prefix)) {
      if (!items.has(item.path) && wanted(item)) items.set(item.path, item);
    }
  }
  return { items: [...items.values()], withheld: below.length - visible.length };
}

async function execute(input: Input, context: ToolContext): Promise<Executed<Listing>> {
  const { items, withheld } = await gather(input, context);
  const notes = withheld > 0 ? [`${count(withheld, "file")} here withheld by configuration.`] : [];
  const truncated = input.with_size && items.length > MAX_SIZES;
  if (truncated) notes.push(`Only the first ${MAX_SIZES} of ${items.length} entries.`);
  const unread = new Set<string>();
  const output = input.with_size
    ? await Promise.all(items.slice(0, MAX_SIZES).map((item) => sizeOf(item, context, unread)))
    : items.map((item) => item.path);
  notes.push(...unreadNotes(unread));
  return { output, truncated, ...(notes.length > 0 ? { note: notes.join(" ") } : {}) };
}

export const listFiles = defineTool<Input, Listing>({
  name: "list_files",
  title: "List files",
  description: "Tracked files and folders at head.",
  returns:
    "Paths from the repository root, sorted as in `git ls-tree -r`; with `with_size`, a list of `{path, is_dir, size}`.",
  example: { directory: "src", pattern: "*.test.ts" },
  kind: "read",
  input: Input,
  execute,
  render: renderListing,
});
