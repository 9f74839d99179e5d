import type { Guard } from "../guard.ts";

const changing = "test/tools/changing.test.ts";
const reading = "test/contract/workspaces/reading.test.ts";

export const guards: Guard[] = [
  {
    guard: "nothing is written at a private path",
    row: "tool-abuse",
    file: "src/tools/resolve-path.ts",
    from: "  refusePrivate(path, context);\n  const entry = tree.get(path) ?? null;",
    to: "  const entry = tree.get(path) ?? null;",
    test: changing,
    title: "refuses a new private file, and changes nothing",
  },
  {
    guard: "nothing is written through a link",
    row: "symlinks",
    file: "src/tools/resolve-path.ts",
    from: '  if (entry && !entry.mode.startsWith("100")) throw new ToolError(describeEntry(entry));\n  if (entry) return',
    to: "  if (entry) return",
    also: [
      {
        file: "src/git/edit/require-writable.ts",
        from: 'if (standing && !standing.mode.startsWith("100")) throw inTheWay(path, path);',
        to: "",
      },
    ],
    test: changing,
    title: "refuses a link, and changes nothing",
  },
  {
    guard: "nothing is written under a name that no disk takes, or that is git's",
    row: "path-tricks",
    file: "src/git/edit/require-writable.ts",
    from: "!isWritable(path) ||",
    to: "",
    test: changing,
    title: "refuses a name that no disk takes, and changes nothing",
  },
  {
    guard: "nothing is written under another name than the one git gives it",
    row: "path-tricks",
    file: "src/git/edit/require-writable.ts",
    from: " || decodeName(nameBytes(path)) !== path",
    to: "",
    test: "test/tools/changing-odd-files.test.ts",
    title: "refuses a name in other letters than git tells it in, and changes nothing",
  },
  {
    guard: "an edit makes of a file no more than memory holds",
    row: "tool-abuse",
    file: "src/tools/replace-text.ts",
    from: "if (bytes > MAX_BYTES)",
    to: "if (bytes < 0)",
    test: "test/tools/changing-odd-files.test.ts",
    title: "refuses what would multiply a file beyond what is written, and changes nothing",
  },
  {
    guard: "an absolute path is one below a folder that is known, not of one whose name begins alike",
    row: "path-tricks",
    file: "src/tools/resolve-path.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    from: "given.startsWith(`${one}/`)",
    to: "given.startsWith(one)",
    test: "test/tools/resolve-path.test.ts",
    title: "accepts an absolute path inside the repository as whoever asks knows it, and none beside it",
  },
  {
    guard: "what a link names is not searched where nothing is checked out",
    row: "symlinks",
    file: "src/git/search/files-to-search.ts",
    from: 'mode.startsWith("100") && ',
    to: 'mode !== "160000" && ',
    test: reading,
    title: "objects answers search_in_files as the checkout does",
  },
];
