import { z } from "zod";
import { createPathMatcher, MAX_DOUBLE_STARS } from "../diff/path-matcher.ts";
import type { TreeEntry } from "../git/workspace.ts";
import { type Listing, renderListing, type SizedEntry } from "./render-listing.ts";
import { resolveFolder } from "./resolve-path.ts";
import { count } from "./show.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** Sizes are looked up one by one, so only so many entries get one. */
const MAX_SIZES = 1_000;

const MAX_PATTERN = 500;

const Input = z.strictObject({
  directory: z.string().default(".").describe("Folder to list, from the repository root."),
  pattern: z
    .string()
    .max(MAX_PATTERN)
    .optional()
    .describe(
      "Only paths that match this gitignore-style glob, below the folder or from the root: '*.ts', 'src/**/test'.",
    ),
  type: z.enum(["file", "directory", "any"]).default("file").describe("What to list."),
  depth: z.int().min(1).optional().describe("How many levels deep; 1 is the folder alone. Left out: all."),
  show_hidden: z.boolean().default(true).describe("Also what begins with a dot."),
  with_size: z.boolean().default(false).describe(`Sizes in bytes, for the first ${MAX_SIZES} entries.`),
});
type Input = z.infer<typeof Input>;

interface Item {
  path: string;
  entry: TreeEntry | null;
}

/** Byte order, as git sorts paths. */
const byBytes = (left: Item, right: Item) => Buffer.compare(Buffer.from(left.path), Buffer.from(right.path));

/** The entry and all folders on the way to it that are below `prefix`. */
function* itemsOf(entry: TreeEntry, prefix: string): Generator<Item> {
  for (
    let slash = entry.path.indexOf("/", prefix.length);
    slash >= 0;
    slash = entry.path.indexOf("/", slash + 1)
  ) {
    yield { path: entry.path.slice(0, slash), entry: null };
  }
  yield { path: entry.path, entry };
}

function createSelector(input: Input, prefix: string): (item: Item) => boolean {
  const inverted = input.pattern?.startsWith("!") ?? false;
  const pattern = inverted ? input.pattern?.slice(1) : input.pattern;
  if (pattern !== undefined && pattern.split("**").length - 1 > MAX_DOUBLE_STARS) {
    throw new ToolError(
      `the pattern holds '**' more than ${MAX_DOUBLE_STARS} times; name a directory instead`,
    );
  }
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

async function sizeOf(item: Item, context: ToolContext): Promise<SizedEntry> {
  const sized = { path: item.path, is_dir: item.entry === null };
  if (!item.entry?.mode.startsWith("100")) return { ...sized, size: null };
  const size = await context.workspace.readBlob(item.entry.oid).then(
    (blob) => blob.bytes,
    () => null,
  );
  return { ...sized, size };
}

async function execute(input: Input, context: ToolContext) {
  const folder = await resolveFolder(input.directory, context);
  const prefix = folder === "" ? "" : `${folder}/`;
  const wanted = createSelector(input, prefix);
  const items = new Map<string, Item>();
  let withheld = 0;
  for (const entry of (await context.workspace.tree("head")).values()) {
    if (!entry.path.startsWith(prefix)) continue;
    if (context.isPrivate(entry.path)) {
      withheld += 1;
      continue;
    }
    for (const item of itemsOf(entry, prefix))
      if (!items.has(item.path) && wanted(item)) items.set(item.path, item);
  }
  const sorted = [...items.values()].sort(byBytes);
  const notes = withheld > 0 ? [`${count(withheld, "file")} here withheld by configuration.`] : [];
  if (!input.with_size)
    return withNote(
      sorted.map((item) => item.path),
      notes,
    );
  if (sorted.length > MAX_SIZES) notes.push(`Only the first ${MAX_SIZES} of ${sorted.length} entries.`);
  return withNote(await Promise.all(sorted.slice(0, MAX_SIZES).map((item) => sizeOf(item, context))), notes);
}

const withNote = (output: Listing, notes: readonly string[]) =>
  notes.length === 0 ? { output } : { output, note: notes.join(" ") };

export const listFiles = defineTool<Input, Listing>({
  name: "list_files",
  title: "List files",
  description:
    "Tracked files and folders at head, below a folder, by name or glob; shown under their folders.",
  returns:
    "Paths from the repository root, sorted, as `git ls-tree -r` has them; with `with_size` a list of `{path, is_dir, size}`.",
  example: { directory: "src", pattern: "*.test.ts" },
  kind: "read",
  input: Input,
  execute,
  render: renderListing,
});
