import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parseRepoConfig } from "../../../../src/config/parse-config.ts";
import { addRule, patchOf } from "../../../../src/server/jobs/commands/remember.ts";
import { TempFolder } from "../../../support/git-repo.ts";

const rule = "Every public function needs a test.";

function added(text: string | null, one = rule): string {
  const made = addRule(text, one);
  if (!made.ok) throw new Error(made.reason);
  return made.text;
}

function rulesOf(text: string) {
  const parsed = parseRepoConfig(text);
  return parsed.ok ? parsed.config.instructions : null;
}

it("A remembered rule makes a file if there is none", () => {
  expect(added(null)).toBe(`instructions:\n  - path: "**"\n    text: ${rule}\n`);
});

it("A remembered rule is at the end of the list, and everything else keeps its layout and comments", () => {
  const file = [
    "# ours",
    "max_comments:   10  # few",
    "",
    "instructions:",
    "- path: docs/**",
    "  text: >-",
    "    Mind the",
    "    spelling.",
    "  # about docs",
    "",
    "paths: { private: [secret/**] }",
    "",
  ];
  const text = added(file.join("\n"));
  expect(rulesOf(text)).toEqual([
    { path: "docs/**", text: "Mind the spelling." },
    { path: "**", text: rule },
  ]);
  const lines = text.split("\n");
  expect(lines.filter((line) => !file.includes(line))).toHaveLength(2);
  expect(lines.filter((line) => file.includes(line))).toEqual(file);
});

it("A remembered rule goes into a list on one line, and into an empty one", () => {
  expect(rulesOf(added('instructions: [{ path: "*.md", text: Short. }]\n'))).toHaveLength(2);
  expect(rulesOf(added("effort: low\ninstructions: []\n"))).toEqual([{ path: "**", text: rule }]);
  expect(rulesOf(added("effort: low"))).toEqual([{ path: "**", text: rule }]);
  expect(rulesOf(added("{ effort: low }\n"))).toEqual([{ path: "**", text: rule }]);
});

it("A remembered rule is not added twice", () => {
  const again = addRule(added(null), `  ${rule.replace(" ", "\n")} `);
  expect(again).toEqual({ ok: false, reason: "the configuration already has this rule" });
});

it("A remembered rule changes no broken file, and none whose list is something else", () => {
  expect(addRule("paths: [private: {", rule).ok).toBe(false);
  expect(addRule("max_comments: many\n", rule).ok).toBe(false);
  expect(addRule("instructions: be nice\n", rule).ok).toBe(false);
});

it("A remembered rule is read back from the file, whatever its text is", () => {
  void fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 80, unit: "grapheme" }), (text) => {
      fc.pre(text.trim() !== "" && !/[\0\ufffd\r\u0085\u2028\u2029]/.test(text) && text.isWellFormed());
      const made = addRule("effort: low\ninstructions:\n  - path: a\n    text: b\n", text);
      expect(made.ok && rulesOf(made.text)?.at(-1)).toEqual({ path: "**", text });
    }),
    { numRuns: 60 },
  );
});

it.each([
  ["a new file", null, "a\nb\n"],
  ["lines at the end", "1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n"],
  ["lines in the middle", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\ny\n5\n6\n7\n8\n9\n"],
  ["changed lines", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"],
  ["a line that repeats its neighbor", "a\na\n", "a\na\na\n"],
])("The patch of a file with %s is one that git applies", (_, before, after) => {
  using folder = new TempFolder("patch");
  const file = join(folder.path, "x.yml");
  if (before !== null) writeFileSync(file, before);
  execFileSync("git", ["apply"], { cwd: folder.path, input: patchOf("x.yml", before, after) });
  expect(readFileSync(file, "utf8")).toBe(after);
});
