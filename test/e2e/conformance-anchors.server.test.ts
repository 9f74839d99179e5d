import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { fullName } from "../support/github-double/model.ts";
import { answers, type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const risky = ["  const parsed = JSON.parse(text);", "  return parsed.value;"];
const crlf = (text: string) => text.replaceAll("\n", "\r\n");
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
const edited = (name: string) => numbers(60, { 24: `const ${name} = 0;` });
const removed = numbers(60, { 18: ["const n18 = 0;", "const more = 1;"], 21: [] });
const at = (path: string, line: number, quote: string, over: Record<string, unknown> = {}) =>
  finding({ path, line, quote, title: `${path}:${line} is wrong`, ...over });

/** One pull request with a file for each case: the base, the change, and the model's report. */
const base = {
  // At low effort there is no second look.
  ".github/hunkwise.yml": "effort: low\nmax_comments: 100\n",
  "one.js": "export const retries = 3;\n",
  "middle.js": numbers(60),
  "two.js": numbers(60),
  "three.js": numbers(60),
  "near.js": numbers(60),
  "left.js": numbers(60),
  "right.js": numbers(60),
  "old/a.js": numbers(60),
  "old/b.js": numbers(70),
  "shown.js": numbers(60),
  "range.js": numbers(60),
  "point.js": numbers(60),
  "spaces.js": numbers(60),
  "crlf.js": crlf(numbers(60)),
  ...Object.fromEntries(oddNames.map((name) => [name, numbers(9)])),
};
const head = {
  "one.js": "export const retries = -1;\n",
  "middle.js": numbers(60, { 20: "const n20 = 0;", 24: "const n24 = 0;", 29: "const n29 = 0;" }),
  "two.js": numbers(60, { 11: risky, 51: risky }),
  "three.js": numbers(60, { 11: risky, 31: risky, 51: risky }),
  "near.js": numbers(60, { 11: risky, 31: risky, 51: risky }),
  "left.js": removed,
  "right.js": removed,
  "old/a.js": null,
  "old/b.js": null,
  "new/a.js": edited("a"),
  "new/b.js": `${edited("b")}//\n`,
  "shown.js": numbers(60, { 24: "const n24 = 0;" }),
  "range.js": numbers(60, { 10: "const n10 = 0;", 24: "const n24 = 0;" }),
  "point.js": numbers(60, { 24: "const n24 = 0;" }),
  "spaces.js": numbers(60, { 24: ["if (n23) {", "\t\treturn  n23 ;", "}"] }),
  "crlf.js": crlf(numbers(60, { 24: ["const n24 = 0;", "const more = 1;"] })),
  ...Object.fromEntries(oddNames.map((name) => [name, numbers(9, { 5: "const n5 = 0;" })])),
};
const reports = [
  at("one.js", 1, "export const retries = -1;"),
  at("middle.js", 24, "const n24 = 0;"),
  at("two.js", 53, "return parsed.value;"),
  at("three.js", 33, "return parsed.value;"),
  at("three.js", 54, "return parsed.value;"),
  // The number is off by three lines.
  at("near.js", 36, "return parsed.value;"),
  at("left.js", 21, "const n21 = 21;", { side: "LEFT" }),
  at("right.js", 21, "const n21 = 21;", { side: "RIGHT" }),
  at("new/a.js", 24, "const a = 0;"),
  at("old/b.js", 24, "const b = 0;"),
  at("shown.js", 26, "const n26 = 26;"),
  at("range.js", 24, "const n24 = 0;", { start_line: 10, suggestion: "const n24 = 24;" }),
  at("point.js", 24, "const n24 = 0;", { start_line: 24 }),
  at("spaces.js", 20, "    return n23 ;  "),
  at("crlf.js", 24, "const n24 = 0;"),
  at("crlf.js", 25, "const n24 = 0;\nconst more = 1;", { start_line: 24, category: "test" }),
  // Critical, because the summary links only the twelve most severe findings.
  ...oddNames.map((name, n) => at(name, 5, "const n5 = 0;", { title: `Case ${n}`, severity: "critical" })),
];

describe("the line of a comment", patient, () => {
  let app: Case;
  beforeAll(
    () =>
      onPull({ base, head, script: [turn(...reports, finish)] }, async (one) => {
        app = one;
        await app.review();
      }),
    patient.timeout * 2,
  );

  /** Places of a file's comments: "RIGHT 24". */
  const on = (path: string) =>
    app
      .end()
      .comments.filter((place) => place.startsWith(`${path} `))
      .map((place) => place.slice(path.length + 1));
  const hunkOf = (path: string) =>
    app.pull.reviewComments.find((comment) => comment.path === path)?.anchor?.diffHunk;

  it("All findings of one review are on their lines", () => {
    const { comments, ...rest } = app.end();
    expect(comments).toHaveLength(reports.length);
    expect(rest).toEqual({ reviews: 1, summaries: 1, check: "neutral" });
  });

  it("a: A comment is in a hunk of one line, `@@ -1 +1 @@`", () => {
    expect(on("one.js")).toEqual(["RIGHT 1"]);
    expect(hunkOf("one.js")).toMatch(/^@@ -1 \+1 @@\n/);
  });

  it("b: A comment is in the middle of a hunk, not on its last line", () => {
    expect(on("middle.js")).toEqual(["RIGHT 24"]);
    // GitHub shows the hunk from its beginning to the line: the hunk began above, and this line is in its middle.
    expect(hunkOf("middle.js")).toMatch(/^@@ -17,16 [\s\S]*\n\+const n24 = 0;$/);
  });

  it("d: A comment is on the code that its number means, if two or three places are equal", () => {
    expect(on("two.js")).toEqual(["RIGHT 53"]);
    expect(on("three.js")).toEqual(["RIGHT 33", "RIGHT 54"]);
    expect(on("near.js")).toEqual(["RIGHT 33"]);
  });

  it("g: A comment on a removed line has its old number, side LEFT, whatever side the model says", () => {
    expect(on("left.js")).toEqual(["LEFT 21"]);
    expect(on("right.js")).toEqual(["LEFT 21"]);
  });

  it("h: A comment is under the new path of a renamed file, whichever path the model says", () => {
    expect(on("new/a.js")).toEqual(["RIGHT 24"]);
    expect(on("new/b.js")).toEqual(["RIGHT 24"]);
  });

  it("A comment is on an unchanged line that the diff shows", () => {
    expect(on("shown.js")).toEqual(["RIGHT 26"]);
  });

  it("A comment is on the part of a range that lies in the hunk of its last line", () => {
    expect(on("range.js")).toEqual(["RIGHT 21-24"]);
    const body = app.bodies().find((text) => text.includes("range.js:24 is wrong"));
    // The suggestion was written for fifteen lines; it must not replace these four with one click.
    expect(body).toContain("const n24 = 24;");
    expect(body).not.toContain("```suggestion");
  });

  it("A comment names one line if its range begins and ends on it", () => {
    expect(on("point.js")).toEqual(["RIGHT 24"]);
  });

  it("A comment is on its line although the quote has other white space", () => {
    expect(on("spaces.js")).toEqual(["RIGHT 25"]);
  });

  it("A comment is on its line in a file whose lines end with CR LF", () => {
    expect(on("crlf.js")).toEqual(["RIGHT 24", "RIGHT 24-25"]);
  });

  it("Files with blanks, quotes, other alphabets and signs of URLs in their names are all linked", () => {
    const { comments } = app.end();
    expect(oddNames.filter((name) => !comments.includes(`${name} RIGHT 5`))).toEqual([]);
    const page = `${app.github.url}/${fullName(app.repository)}/blob/${app.pull.heads[0]}/`;
    const links = [...app.summary().matchAll(/\]\(([^)\s]+)#L5\)/g)].map(([, link = ""]) => link);
    expect(links.map((link) => decodeURIComponent(link.replace(page, ""))).toSorted()).toEqual(
      oddNames.toSorted(),
    );
    expect(links.every((link) => !/[#?"\\ ]/.test(link))).toBe(true);
  });
});

describe("an absolute path from the model", patient, () => {
  const path = "src/absolute.js";
  const read = (given: string) => ({ name: "read_file_part", arguments: { file_path: given } });
  const absolute = (given: string, line: number) => at(given, line, `const n${line} = 0;`);

  it("m: A foreign absolute path is answered with the correct form, and the checkout's own is accepted", () => {
    let folder = "";
    const foreign = [`/${path}`, `/workspace/${path}`];
    return onPull(
      {
        base: { [path]: numbers(60) },
        head: { [path]: numbers(60, { 24: "const n24 = 0;", 40: "const n40 = 0;" }) },
        script: (_body, n) => {
          if (n === 1) return turn(read(path), absolute(path, 24));
          if (n > 1) return turn(finish);
          const own = checkoutOf(folder, path);
          return turn(
            ...foreign.map(read),
            ...foreign.map((given) => absolute(given, 24)),
            read(own),
            absolute(own, 40),
            { name: "search_in_files", arguments: { pattern: "n24", path: dirname(own) } },
            finish,
          );
        },
      },
      async (app) => {
        folder = app.dataFolder;
        await app.review();

        const answered = answers(app.reviewRequests[1]?.body);
        expect(answered.map((text) => /relative to its root/.test(text)).slice(0, 7)).toEqual([
          ...[true, true, true, true],
          ...[false, false, false],
        ]);
        expect(app.reviewRequests).toHaveLength(3);
        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`, `${path} RIGHT 40`],
          summaries: 1,
          check: "neutral",
        });
      },
    );
  });
});

/** Absolute path of a file that only one checkout below the data folder has. */
function checkoutOf(dataFolder: string, file: string): string {
  const found = readdirSync(dataFolder, { recursive: true, encoding: "utf8" }).find((one) =>
    one.endsWith(`/${file}`),
  );
  if (found === undefined) throw new Error(`${dataFolder} holds no checkout with ${file}`);
  return join(dataFolder, found);
}
