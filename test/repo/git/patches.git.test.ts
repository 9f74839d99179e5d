import { describe, expect, it } from "vitest";
import { ChangeSplitter, defaultPatchLimits, PatchSplitter } from "../../../src/repo/git/patches.ts";

/** The sections of patches that come in these pieces, each with its header and its hunks. */
function split(...pieces: (string | Buffer)[]): { header: string; body: string }[] {
  const splitter = new PatchSplitter(defaultPatchLimits);
  for (const piece of pieces) splitter.push(Buffer.from(piece as string));
  return splitter.end(false).map(({ header, hunks }) => ({ header, body: `${hunks}` }));
}

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
  it("are told apart at whatever byte they are cut", () => {
    for (let at = 0; at <= whole.length; at++)
      expect([at, split(whole.slice(0, at), whole.slice(at))]).toEqual([at, sections]);
  });

  it("are told apart when they come byte by byte", () => {
    expect(split(...whole)).toEqual(sections);
  });

  it.each([
    ["in a hunk", "diff --git a/a b/a\n@@ -1 +1,2 @@\n-a\n+b\n"],
    ["in a line of a hunk", "diff --git a/a b/a\n@@ -0,0 +1 @@\n+a"],
    ["in a header", "diff --git a/a b/a\n--- a"],
  ])("are refused where they end %s", (_, patch) => {
    expect(() => split(patch)).toThrow(/ends inside a hunk/);
  });

  it("keep no byte of a line that does not fit, however it comes", () => {
    const splitter = new PatchSplitter({ ...defaultPatchLimits, keptBytes: 100 });
    splitter.push(Buffer.from("diff --git a/a b/a\n@@ -0,0 +1 @@\n+"));
    for (let count = 0; count < 50; count++) splitter.push(Buffer.from("x".repeat(1000)));
    splitter.push(Buffer.from("\n"));
    expect(splitter.end(false)).toEqual([
      { header: "diff --git a/a b/a\n", hasHunks: true, hunks: undefined },
    ]);
  });
});

/** What the sink is given when the output comes in these pieces. */
function splitChange(...pieces: string[]): { listings: string[]; patch: string } {
  const listings: string[] = [];
  let patch = "";
  const splitter = new ChangeSplitter({
    listing: (bytes) => listings.push(bytes.toString()),
    patch: (bytes) => {
      if (listings.length === 0) throw new Error("a patch came before the listing");
      patch += bytes.toString();
    },
  });
  for (const piece of pieces) splitter.push(Buffer.from(piece));
  splitter.end();
  return { listings, patch };
}

describe("the output of one comparison", () => {
  const listing =
    ":100644 100644 aaa bbb M\0a\0:100644 100644 ccc ddd R050\0b\0c\x001\t2\ta\x003\t4\t\0b\0c\0";
  const patch = "diff --git a/a b/a\n@@ -1 +1 @@\n-\0\0\n+x\n";
  const whole = `${listing}\0${patch}`;

  it("is told apart at whatever byte it is cut", () => {
    for (let at = 0; at <= whole.length; at++)
      expect([at, splitChange(whole.slice(0, at), whole.slice(at))]).toEqual([
        at,
        { listings: [listing], patch },
      ]);
  });

  it("is told apart when it comes byte by byte", () => {
    expect(splitChange(...whole)).toEqual({ listings: [listing], patch });
  });

  it("is an empty listing when nothing changed", () => {
    expect(splitChange()).toEqual({ listings: [""], patch: "" });
  });
});
