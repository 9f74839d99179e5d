import { describe, expect, it } from "vitest";
import { createLineIndex, parseFilePatch, renderHunks } from "../../../../src/repo/diff/file-diff.ts";
import { type AnchorFile, resolveAnchor } from "../../../../src/tasks/anchor/anchor.ts";

const before = [
  ...["start();", "one();", "two();", "three();", "if (ready) {", "  guard();", "}", "four();"],
  ...["twin();", "six();", "seven();", "eight();", "nine();", "ten();", "twin();", "twelve();", "end();"],
];
const after = [
  ...["start();", "new();", "one();", "two();", "three();", "if (ready) {", "  check();", "  log();", "}"],
  ...[
    "four();",
    "twin();",
    "six();",
    "seven();",
    "eight();",
    "nine();",
    "ten();",
    "twin();",
    "last();",
    "end();",
  ],
];
const patch = `@@ -1,9 +1,11 @@
 start();
+new();
 one();
 two();
 three();
 if (ready) {
-  guard();
+  check();
+  log();
 }
 four();
 twin();
@@ -13,5 +15,5 @@ six();
 nine();
 ten();
 twin();
-twelve();
+last();
 end();
`;
const diff = parseFilePatch(patch, "a.ts", null);
const index = createLineIndex(diff);

const file: AnchorFile = {
  path: "a.ts",
  paths: ["a.ts"],
  inChange: true,
  hidden: null,
  lines: { RIGHT: after, LEFT: before },
  hunks: diff.hunks,
  hunkAt: (side, line) => index.at(side, line)?.hunk,
  isRemoved: (line) => index.at("LEFT", line)?.line.kind === "removed",
};

function at(quote: string, side: "RIGHT" | "LEFT", line: number, start_line: number | null = null) {
  const resolved = resolveAnchor(file, { quote, line, side, start_line });
  if (!resolved.ok) throw new Error(resolved.reason);
  const { note, quote: text, asStated, ...place } = resolved.anchor;
  return { ...place, text };
}

const place = (side: string, line: number, start_line: number | null = null) => ({ side, line, start_line });

describe("a quote of removed code", () => {
  it("A quote with a removed line is on LEFT as a whole", () => {
    const block = "if (ready) {\n  guard();\n}";

    expect(at(block, "LEFT", 7, 5)).toMatchObject(place("LEFT", 7, 5));
    expect(at(block, "RIGHT", 6)).toMatchObject(place("LEFT", 6));
  });

  it("A quote with a minus sign on every line is searched on LEFT first", () => {
    expect(at("-twelve();", "RIGHT", 16)).toMatchObject(place("LEFT", 16));
    expect(at("6 -  guard();", "RIGHT", 6)).toMatchObject(place("LEFT", 6));
  });
});

describe("a quote of unchanged code with its old line number", () => {
  it("The quote is found at its new line, even if it repeats", () => {
    expect(at("twin();", "LEFT", 9)).toMatchObject(place("RIGHT", 11));
    expect(at("twin();", "LEFT", 15)).toMatchObject(place("RIGHT", 17));
    expect(at("seven();", "LEFT", 11)).toMatchObject(place("RIGHT", 13));
    expect(at("six();\nseven();", "LEFT", 11, 10)).toMatchObject(place("RIGHT", 13, 12));
    expect(at("end();", "LEFT", 17)).toMatchObject(place("RIGHT", 19));
  });

  it("The quote is on LEFT if the change has put other lines between", () => {
    expect(at("start();\none();", "RIGHT", 3)).toMatchObject(place("LEFT", 2));
    expect(at("1| start();\n2| one();", "LEFT", 2, 1)).toMatchObject(place("LEFT", 2, 1));
  });
});

describe("a quote of both sides of the diff", () => {
  it.each([
    ["with signs", " if (ready) {\n-  guard();\n+  check();\n+  log();\n }"],
    ["without signs", "if (ready) {\n  guard();\n  check();\n  log();\n}"],
    ["with numbers", renderHunks(diff.hunks.slice(0, 1)).split("\n").slice(6, 11).join("\n")],
  ])("A quote of %s is found on its lines of the stated side", (_, quote) => {
    expect(at(quote, "RIGHT", 9, 6)).toMatchObject(place("RIGHT", 9, 6));
    expect(at(quote, "LEFT", 7, 5)).toMatchObject(place("LEFT", 7, 5));
    expect(at(quote, "RIGHT", 8)).toMatchObject({ ...place("RIGHT", 8), text: "  log();" });
    expect(at(quote, "RIGHT", 100)).toMatchObject(place("RIGHT", 9));
  });

  it("A quote does not begin or end on a blank line, and is on the side with more than blank lines", () => {
    const blank = parseFilePatch("@@ -1,3 +1,4 @@\n a();\n-b();\n+\n+c();\n+\n d();\n", "a.ts", null);
    const places = createLineIndex(blank);
    const other: AnchorFile = {
      ...file,
      lines: { RIGHT: ["a();", "", "c();", "", "d();"], LEFT: ["a();", "b();", "d();"] },
      hunks: blank.hunks,
      hunkAt: (side, line) => places.at(side, line)?.hunk,
      isRemoved: (line) => line === 2,
    };
    const anchor = (quote: string) =>
      resolveAnchor(other, { quote, side: "RIGHT", line: 9, start_line: null });

    expect(anchor("-b();\n+\n+c();\n+")).toMatchObject({ anchor: place("RIGHT", 3) });
    expect(anchor("b();\n\nc();")).toMatchObject({ anchor: place("RIGHT", 3) });
    expect(anchor(" a();\n-b();\n+")).toMatchObject({ anchor: place("LEFT", 2) });
    expect(anchor("-b();\n+\n+")).toMatchObject({ anchor: place("LEFT", 2) });
  });

  it("A quote may include the header of its hunk", () => {
    expect(at("@@ -13,5 +15,5 @@ six();\n twin();\n-twelve();\n+last();", "RIGHT", 18)).toMatchObject(
      place("RIGHT", 18),
    );
  });

  it("A quote does not extend over two hunks", () => {
    const resolved = resolveAnchor(file, {
      quote: "-  guard();\n+  check();\n+  log();\n }\n four();\n twin();\n nine();",
      ...{ side: "RIGHT", line: 9, start_line: null },
    });

    expect(resolved).toMatchObject({ ok: false, reason: expect.stringContaining("Nearest lines") });
  });
});

describe("a range of lines", () => {
  it("A range over several hunks keeps the part with its quote", () => {
    expect(at("check();", "RIGHT", 19, 6)).toMatchObject(place("RIGHT", 11, 6));
    expect(at("last();", "RIGHT", 19, 6)).toMatchObject({
      ...place("RIGHT", 19, 15),
      text: "nine();\nten();\ntwin();\nlast();\nend();",
    });
  });

  it("A range whose quote is outside of all hunks keeps its part in a hunk", () => {
    expect(at("seven();", "RIGHT", 19, 6)).toMatchObject(place("RIGHT", 14, 12));
  });

  it("A range whose quote extends over hunks keeps the last one", () => {
    expect(at("eight();\nnine();", "RIGHT", 15, 14)).toMatchObject(place("RIGHT", 15));
    expect(at("twin();\nsix();", "RIGHT", 12, 11)).toMatchObject(place("RIGHT", 11));
  });

  it("A clipped range says so, and its suggestion becomes prose", () => {
    expect(resolveAnchor(file, { quote: "check();", side: "RIGHT", line: 19, start_line: 6 })).toMatchObject({
      anchor: { asStated: false, note: expect.stringMatching(/one hunk.*anchored at lines 6-11/) },
    });
  });
});
