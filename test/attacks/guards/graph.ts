import type { Guard } from "../guard.ts";

const row = "poisoned-index";
const opened = "test/graph/open-graph.test.ts";
const source = "test/graph/source.test.ts";
const chosen = "holds no private file, no link and no submodule";

export const guards: readonly Guard[] = [
  {
    ...{ row, guard: "what a head adds to an index that is only read stays in memory" },
    file: "src/graph/index-source.ts",
    from: 'readOnly ? "temp" : "main"',
    to: '"main"',
    also: [
      {
        file: "src/graph/open-graph.ts",
        from: "new DatabaseSync(file, { readOnly,",
        to: "new DatabaseSync(file, { readOnly: false,",
      },
    ],
    test: opened,
    title: "keeps nothing of what a head adds, byte for byte, and answers with it all the same",
  },
  {
    ...{ row, guard: "an index that another version wrote is not read" },
    file: "src/graph/open-graph.ts",
    from: 'else if (versionOf(database) !== EXTRACTOR_VERSION) throw new Error("it was made by another version");',
    to: "",
    test: opened,
    title: "is not taken where another version wrote it",
  },
  {
    ...{ row, guard: "an index that another version wrote is made anew" },
    file: "src/graph/open-graph.ts",
    from: "if (version !== 0 && version !== EXTRACTOR_VERSION) dropTables(database);",
    to: "",
    test: opened,
    title: "is made anew where another version wrote it",
  },
  {
    ...{ row, guard: "one that only reads forgets nothing of the index" },
    file: "src/graph/open-graph.ts",
    from: "if (file !== null && !readOnly) forgetOld",
    to: "if (file !== null) forgetOld",
    test: opened,
    title: "loses nothing to one that only reads",
  },
  {
    ...{ row, guard: "no private file is among those that an index is made of" },
    file: "src/graph/source.ts",
    from: " && !isPrivate(path)",
    to: "",
    test: source,
    title: chosen,
  },
  {
    ...{ row, guard: "no link is among those that an index is made of" },
    file: "src/graph/source.ts",
    from: 'mode.startsWith("100") && ',
    to: "",
    test: source,
    title: chosen,
  },
];
