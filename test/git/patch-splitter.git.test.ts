import { describe, expect, it } from "vitest";
import { PatchSplitter } from "../../src/git/patches.ts";

/** The sections of patches that come in these pieces, each with its header and its hunks. */
function split(...pieces: (string | Buffer)[]): { header: string; body: string }[] {
  const sections: { header: string; body: string }[] = [];
  const add = (bytes: Buffer) => {
    sections.at(-1)!.body += bytes.toString();
  };
  const splitter = new PatchSplitter({
    header: (bytes) => sections.push({ header: bytes.toString(), body: "" }),
    hunk: (line) => add(line),
    body: (bytes) => add(bytes),
  });
  for (const piece of pieces) splitter.push(Buffer.from(piece as string));
  splitter.end();
  return sections;
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

  it("hand a line on as it comes, so that none has to be kept", () => {
    const piece = "x".repeat(1000);
    const given: number[] = [];
    const splitter = new PatchSplitter({ header() {}, hunk() {}, body: (bytes) => given.push(bytes.length) });
    splitter.push(Buffer.from("diff --git a/a b/a\n@@ -0,0 +1 @@\n+"));
    for (let count = 0; count < 50; count++) splitter.push(Buffer.from(piece));
    splitter.push(Buffer.from("\n"));
    splitter.end();
    expect(given.slice(1)).toEqual([...Array(50).fill(1000), 1]);
  });
});
