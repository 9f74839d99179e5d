import { describe, expect, it } from "vitest";
import { type FileDiff, parseFilePatch } from "../../../../src/repo/diff/file-diff.ts";
import { isMechanical, repeatedEdits } from "../../../../src/tasks/review/context/repeated-edits.ts";

const diffOf = (path: string, ...lines: readonly string[]): FileDiff => {
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const header = `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}`;
  const hunk = `@@ -1,${1 + count("-")} +1,${1 + count("+")} @@`;
  return parseFilePatch(`${header}\n${hunk}\n first\n${lines.join("\n")}\n`, path, null);
};

const names = ["add", "callback", "remove", "update", "list"];
const mechanical = (diffs: readonly FileDiff[]) => {
  const isRepeated = repeatedEdits(diffs);
  return diffs.filter((diff) => isMechanical(diff, isRepeated)).map(({ path }) => path);
};

describe("repeatedEdits", () => {
  it("An import path that many files replace is mechanical, whatever it imports", () => {
    const diffs = names.map((name) =>
      diffOf(
        `${name}.ts`,
        `-import ${name} from "../utils/${name}";`,
        `+import ${name} from "../utils/auth/${name}";`,
      ),
    );
    expect(mechanical(diffs)).toEqual(names.map((name) => `${name}.ts`));
  });

  it("A hunk that differs from the rewrite of the others keeps its file", () => {
    const diffs = names.map((name) =>
      diffOf(`${name}.ts`, `-  open(${name}, 1);`, `+  openFile(${name}, 1);`),
    );
    const odd = diffOf("odd.ts", "-  open(odd, 1);", "+  openFile(odd);");
    expect(mechanical([...diffs, odd])).not.toContain("odd.ts");
    expect(mechanical([...diffs, odd])).toHaveLength(names.length);
  });

  it("An edit without a name, or at few places, is not mechanical", () => {
    expect(mechanical(names.map((name) => diffOf(`${name}.ts`, `-  ${name}(0);`, `+  ${name}(1);`)))).toEqual(
      [],
    );
    const few = names
      .slice(0, 3)
      .map((name) => diffOf(`${name}.ts`, `-  open(${name});`, `+  close(${name});`));
    expect(mechanical(few)).toEqual([]);
  });
});
