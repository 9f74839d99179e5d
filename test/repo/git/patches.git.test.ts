import { describe, expect, it } from "vitest";
import { splitPatches } from "../../../src/repo/git/patches.ts";

const limits = { bytes: 10_000, hunks: 100, isCut: false };

/** The sections of some output, each with its header and its hunks. */
const split = (output: string, options: Partial<typeof limits> = {}) =>
  splitPatches(Buffer.from(output), { ...limits, ...options }).sections.map(({ header, hunks }) => ({
    header: `${header}`,
    body: `${hunks}`,
  }));

const first = {
  header: "diff --git a/a b/a\n--- a/a\n+++ b/a\n",
  body: "@@ -1,2 +1,3 @@\n-diff --git a/x b/x\n+@@ -1 +1 @@\n ---\n++++\n@@ -9 +10 @@ f()\n-old\n+new\n\\ No newline at end of file\n",
};
const renamed = { header: "diff --git a/b b/c\nsimilarity index 100%\n", body: "" };
const last = {
  header: "diff --git a/d b/d\n--- a/d\n+++ b/d\n",
  body: "@@ -0,0 +1,2 @@\n+\n+\\ no remark\n",
};
const sections = [first, renamed, last];
const whole = sections.map(({ header, body }) => header + body).join("");

describe("patches that git prints one after the other", () => {
  it("Content that looks like a header starts no section", () => {
    expect(split(whole)).toEqual(sections);
  });

  it("Output that was cut gives the sections before the last one that arrived", () => {
    for (let at = 0; at <= whole.length; at++) {
      const begun = whole.slice(0, at).match(/^diff --git /gm)?.length ?? 0;
      const found = split(whole.slice(0, at), { isCut: true });
      expect([at, found]).toEqual([at, sections.slice(0, found.length)]);
      expect(found.length).toBeGreaterThanOrEqual(begun - 1);
    }
  });

  it.each([{ bytes: whole.length - 1 }, { hunks: 2 }])("Sections beyond %o are left out", (limit) => {
    expect(split(whole, limit)).toEqual(sections.slice(0, 2));
  });

  it.each([
    ["in a hunk", "diff --git a/a b/a\n@@ -1 +1,2 @@\n-a\n+b\n"],
    ["in a line of a hunk", "diff --git a/a b/a\n@@ -0,0 +1 @@\n+a"],
    ["in a header", "diff --git a/a b/a\n--- a"],
  ])("Output that ends %s is refused", (_, patch) => {
    expect(() => split(patch)).toThrow(/ends inside a hunk/);
  });

  it("A line outside of every file is refused, also in output that was cut", () => {
    for (const isCut of [false, true])
      expect(() => split(`${whole}stray line\n${whole}`, { isCut })).toThrow(/outside of every file/);
  });
});
