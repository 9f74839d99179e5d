import { describe, expect, it } from "vitest";
import { GitRepo } from "../../../support/git-repo.ts";
import { changeMessage, codeAround, firstMessageIn, firstMessageOf, pieceOf } from "./first-message.ts";

describe("siblings of a change in the first message", () => {
  it("The message holds the interface's contract, and methods whose parameters differ from the changed ones", async () => {
    const store = (name: string, parameters: string) =>
      `import type { Store } from "./store";\nexport class ${name} implements Store {\n  readRow(${parameters}): string | null {\n    return this.rows.get(id);\n  }\n}\n`;
    const before = {
      "src/store.ts":
        "export interface Store {\n  /** Null if there is no such row; never throws. */\n  readRow(id: string): string | null;\n}\n",
      "src/disk.ts": store("Disk", "id: string"),
      "src/memory.ts": store("Memory", "id: string"),
    };
    const message = await firstMessageOf(before, {
      "src/disk.ts": store("Disk", "id: string, owner: string"),
    });
    expect(pieceOf(message, "src/store.ts", "Store.readRow, which readRow implements")).toContain(
      "2|  /** Null if there is no such row; never throws. */",
    );
    expect(pieceOf(message, "src/memory.ts", "whose parameters differ")).toContain("3|  readRow(id: string)");
  });

  it("The message holds no private method of another type with the same name", async () => {
    const type = (name: string, value: number) =>
      `class ${name} {\n  private int checkNotClosed() {\n    return ${value};\n  }\n  int all() {\n    return checkNotClosed();\n  }\n}\n`;
    const message = await firstMessageOf(
      { "a/A.java": type("A", 1), "b/B.java": type("B", 1) },
      { "a/A.java": type("A", 2) },
    );
    expect(codeAround(message)).not.toContain("B.java");
  });

  it("The message holds the counterpart of a function, and a constant that it newly names", async () => {
    const source = (limit: string) =>
      `import { MAX_ROWS } from "./limits";\nexport function createRow(id) {\n  return insert(id, ${limit});\n}\n${"// remark\n".repeat(9)}export function deleteRow(id) {\n  return drop(id);\n}\n`;
    const message = await changeMessage("src/rows.js", source, ["5", "MAX_ROWS"], {
      "src/limits.js": "// At most.\nexport const MAX_ROWS = 5;\n",
    });
    expect(pieceOf(message, "src/rows.js", "deleteRow, built like createRow")).toContain(
      "|  return drop(id);",
    );
    expect(pieceOf(message, "src/limits.js", "constant MAX_ROWS, which createRow now names")).toContain(
      "1|// At most.",
    );
  });

  it("The message holds the code that a new one was copied from, whatever it is called, and where it stands", async () => {
    const body = (store: string) =>
      `  const row = ${store}.prepare(query);\n  if (row.expired) throw new StaleRow(query);\n  row.touch(clock());\n  return decodeRow(row.bytes);\n}\n`;
    const before = {
      "src/disk/fetch.js": `export function loadFromDisk(query) {\n${body("disk")}`,
      "src/use.js": `import { loadFromDisk } from "./disk/fetch";\nexport const read = (query) => decodeRow(loadFromDisk(query));\n`,
      "src/disk/other.js": "export function decodeRow(bytes) {\n  return JSON.parse(bytes);\n}\n",
    };
    const message = await firstMessageOf(before, {
      "src/memory/read.js": `import { decodeRow } from "../disk/other";\nexport function recall(query) {\n${body("memory").replace("  row.touch(clock());\n", "")}`,
    });
    expect(pieceOf(message, "src/disk/fetch.js", "function loadFromDisk, built like recall")).toContain(
      "|  row.touch(clock());",
    );
  });

  it("The message says that only tests name a function", async () => {
    const source = (value: number) => `export function ratioOf(x) {\n  return x / ${value};\n}\n`;
    const test =
      'import { ratioOf } from "./ratio";\nit("divides", () => {\n  expect(ratioOf(4)).toBe(2);\n});\n';
    const files = { "src/ratio.js": source(2), "src/ratio.test.js": test };
    const message = await firstMessageOf(files, { "src/ratio.js": source(3) });
    expect(message).toContain("## What nothing uses\nOnly tests name ratioOf (src/ratio.js:1).");
    const user = { "src/user.js": "use(ratioOf(3));\n" };
    expect(await firstMessageOf({ ...files, ...user }, { "src/ratio.js": source(3) })).not.toContain(
      "Only tests",
    );
  });

  it("The message holds no commit message that equals the description", async () => {
    using repo = GitRepo.create();
    repo.commit("Begin", { "a.js": "one();\n" });
    repo.branch("topic");
    repo.commit("Change it (#7)\n\nIt was\nwrong.", { "a.js": "two();\n" });
    const pull = { title: "Change it", body: "It was wrong." };
    expect(await firstMessageIn(repo, { pull })).not.toContain("# Commits, newest first");
    expect(await firstMessageIn(repo, { pull: { ...pull, body: "" } })).toContain("# Commits, newest first");
  });
});
