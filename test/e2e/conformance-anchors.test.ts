import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fullName } from "../support/github-double/model.ts";
import { answers, finding, finish, numbers, onApp, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60) };

describe.concurrent("a comment stands on the line that its finding means", patient, () => {
  it("a: in a hunk of one line, `@@ -1 +1 @@`", () =>
    onPull(
      {
        base: { [path]: "export const retries = 3;\n" },
        head: { [path]: "export const retries = -1;\n" },
        script: [turn(finding({ line: 1, quote: "export const retries = -1;" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 1`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.pull.reviewComments[0]?.anchor?.diffHunk).toMatch(/^@@ -1 \+1 @@\n/);
      },
    ));

  it("b: in the middle of a hunk, not on its last line", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, { 20: "const n20 = 0;", 24: "const n24 = 0;", 29: "const n29 = 0;" }) },
        script: [turn(finding({ line: 24, quote: "const n24 = 0;" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        // GitHub shows the hunk from its beginning to the line: one hunk began above, and this is its middle.
        expect(app.pull.reviewComments[0]?.anchor?.diffHunk).toMatch(/^@@ -17,16 [\s\S]*\n\+const n24 = 0;$/);
      },
    ));

  it("d: on the piece of code that its number means, where two or three are the same", () => {
    const risky = ["  const parsed = JSON.parse(text);", "  return parsed.value;"];
    const at = (file: string, line: number) => finding({ path: file, line, quote: "return parsed.value;" });
    return onPull(
      {
        base: { "two.js": numbers(60), "three.js": numbers(60), "near.js": numbers(60) },
        head: {
          "two.js": numbers(60, { 11: risky, 51: risky }),
          "three.js": numbers(60, { 11: risky, 31: risky, 51: risky }),
          "near.js": numbers(60, { 11: risky, 31: risky, 51: risky }),
        },
        // The last number is off by three lines.
        script: [turn(at("two.js", 53), at("three.js", 33), at("three.js", 54), at("near.js", 36), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: ["near.js RIGHT 33", "three.js RIGHT 33", "three.js RIGHT 54", "two.js RIGHT 53"],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });

  it("g: on the old number of a removed line, side LEFT, whatever side the model says", () => {
    const head = numbers(60, { 18: ["const n18 = 0;", "const more = 1;"], 21: [] });
    const at = (file: string, side: string) =>
      finding({ path: file, side, line: 21, quote: "const n21 = 21;", title: `${file} misses a line` });
    return onPull(
      {
        base: { "left.js": numbers(60), "right.js": numbers(60) },
        head: { "left.js": head, "right.js": head },
        script: [turn(at("left.js", "LEFT"), at("right.js", "RIGHT"), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: ["left.js LEFT 21", "right.js LEFT 21"],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });

  it("h: under the new path of a file that was renamed and edited, whichever path the model says", () => {
    const edited = (name: string) => numbers(60, { 24: `const ${name} = 0;` });
    const at = (file: string, name: string) =>
      finding({ path: file, line: 24, quote: `const ${name} = 0;`, title: `${name} is 0` });
    return onPull(
      {
        base: { "old/a.js": numbers(60), "old/b.js": numbers(70) },
        head: {
          "old/a.js": null,
          "old/b.js": null,
          "new/a.js": edited("a"),
          "new/b.js": `${edited("b")}//\n`,
        },
        script: [turn(at("new/a.js", "a"), at("old/b.js", "b"), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: ["new/a.js RIGHT 24", "new/b.js RIGHT 24"],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });

  it("on an unchanged line that the diff shows", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, { 24: "const n24 = 0;" }) },
        script: [turn(finding({ line: 26, quote: "const n26 = 26;" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 26`] });
      },
    ));

  it("on the part of a range that lies in the hunk of its last line", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, { 10: "const n10 = 0;", 24: "const n24 = 0;" }) },
        script: [
          turn(
            finding({ start_line: 10, line: 24, quote: "const n24 = 0;", suggestion: "const n24 = 24;" }),
            finish,
          ),
        ],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 21-24`] });
        // Written for fifteen lines, it must not replace these four by a click.
        expect(app.bodies()[0]).toContain("const n24 = 24;");
        expect(app.bodies()[0]).not.toContain("```suggestion");
      },
    ));

  it("as one line where a range begins where it ends", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, { 24: "const n24 = 0;" }) },
        script: [turn(finding({ start_line: 24, line: 24, quote: "const n24 = 0;" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`] });
      },
    ));

  it("although the quote has other white space", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, { 24: ["if (n23) {", "\t\treturn  n23 ;", "}"] }) },
        script: [turn(finding({ line: 20, quote: "    return n23 ;  " }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 25`] });
      },
    ));

  it("in a file whose lines end with CR LF", () => {
    const crlf = (text: string) => text.replaceAll("\n", "\r\n");
    return onPull(
      {
        base: { [path]: crlf(numbers(60)) },
        head: { [path]: crlf(numbers(60, { 24: ["const n24 = 0;", "const more = 1;"] })) },
        script: [
          turn(
            finding({ line: 24, quote: "const n24 = 0;" }),
            finding({ start_line: 24, line: 25, quote: "const n24 = 0;\nconst more = 1;", category: "test" }),
            finish,
          ),
        ],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({
          reviews: 1,
          comments: [`${path} RIGHT 24`, `${path} RIGHT 24-25`],
        });
      },
    );
  });

  const oddNames = [
    "src/a file.js",
    'src/a "quoted" file.js',
    "src/naïve/größe.js",
    "src/数.js",
    "src/50%#1?.js",
    "src/[id](b).js",
    "src/back\\slash.js",
    "a/b/c.js",
  ];
  it("in files with blanks, quotes, other alphabets and signs of URLs in their names, all linked", () =>
    onPull(
      {
        base: Object.fromEntries(oddNames.map((name) => [name, numbers(9)])),
        head: Object.fromEntries(oddNames.map((name) => [name, numbers(9, { 5: "const n5 = 0;" })])),
        script: [
          turn(
            ...oddNames.map((name, n) =>
              finding({ path: name, line: 5, quote: "const n5 = 0;", title: `Case ${n} is wrong` }),
            ),
            finish,
          ),
        ],
      },
      async (app) => {
        await app.review();

        const { comments, ...rest } = app.end();
        expect(rest).toEqual({ reviews: 1, summaries: 1, check: "neutral" });
        expect(comments.toSorted()).toEqual(oddNames.map((name) => `${name} RIGHT 5`).toSorted());
        const page = `${app.github.url}/${fullName(app.repository)}/blob/${app.pull.heads[0]}/`;
        const links = [...app.summary().matchAll(/\]\(([^)\s]+)#L5\)/g)].map(([, link = ""]) => link);
        expect(links.map((link) => decodeURIComponent(link.replace(page, ""))).toSorted()).toEqual(
          oddNames.toSorted(),
        );
        expect(links.every((link) => !/[#?"\\ ]/.test(link))).toBe(true);
      },
    ));
});

describe.concurrent("m: an absolute path from the model", patient, () => {
  const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
  const absolute = (given: string) => finding({ path: given, line: 24, quote: "const n24 = 0;" });

  it("that is not the checkout's is answered with the way to write it, and the comment lands", () => {
    const read = (given: string) => ({ name: "read_file_part", arguments: { file_path: given } });
    const given = [`/${path}`, `/workspace/${path}`];
    return onPull(
      {
        base,
        head,
        script: [
          turn(...given.map(read), ...given.map(absolute), finish),
          turn(read(path), absolute(path), finish),
        ],
      },
      async (app) => {
        await app.review();

        const refusals = answers(app.reviewRequests.at(-1)?.body).slice(0, 4);
        expect(refusals.filter((text) => /relative to its root/.test(text))).toHaveLength(4);
        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });

  it("that is the checkout's own is taken at once", () => {
    let folder = "";
    return onApp(
      {
        base,
        head,
        script: () => {
          const given = checkoutOf(folder, path);
          return turn(
            { name: "read_file_part", arguments: { file_path: given } },
            absolute(given),
            { name: "search_in_files", arguments: { pattern: "n24", path: dirname(given) } },
            finish,
          );
        },
      },
      async (app) => {
        folder = app.dataFolder;
        await app.review();

        expect(app.reviewRequests).toHaveLength(1);
        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });
});

/** Absolute path of a file of the only checkout below the data folder. */
function checkoutOf(dataFolder: string, file: string): string {
  const found = readdirSync(dataFolder, { recursive: true, encoding: "utf8" }).find((one) =>
    one.endsWith(`/${file}`),
  );
  if (found === undefined) throw new Error(`${dataFolder} holds no checkout with ${file}`);
  return join(dataFolder, found);
}
