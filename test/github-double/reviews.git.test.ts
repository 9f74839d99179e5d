import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`).join("\n");
const lines = (to: number) => `${numbered(1, to)}\n`;

/** Lines 10 and 40 of 60 change; line 20 is deleted: three hunks, 7-13, 17-22 (old 17-23), 36-42 (old 37-43). */
const edited = lines(60)
  .replace("line 10\n", "line ten\n")
  .replace("line 20\n", "")
  .replace("line 40\n", "line forty\n");

/** A new file of 512 lines whose diff, from its hunk header on, has so many bytes. */
function ofBytes(bytes: number): string {
  const others = `${"x".repeat(998)}\n`.repeat(511);
  return `${others}${"y".repeat(bytes - "@@ -0,0 +1,512 @@\n".length - 511 * 1000 - 2)}\n`;
}

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
const reviews = "/repos/octo-org/shop/pulls/1/reviews";
const comments = "/repos/octo-org/shop/pulls/1/comments";

beforeAll(async () => {
  scenario = await createScenario({
    base: {
      "edited.txt": lines(60),
      "gone.txt": lines(3),
      "old/name.txt": lines(30),
      "same.txt": lines(60),
      "image.bin": Buffer.from([0, 1, 2, 3]),
      "dashes.sql": "-- a comment\n-- another\nselect 1;\n",
      "no-newline.txt": "one\ntwo",
      "kind.txt": "text\n",
    },
    head: {
      "edited.txt": edited,
      "gone.txt": null,
      "old/name.txt": null,
      "new/name.txt": lines(30).replace("line 5\n", "line five\n"),
      "image.bin": Buffer.from([0, 1, 2, 4]),
      "copy.txt": lines(60),
      "dashes.sql": "select 1;\n++ plus\n",
      "no-newline.txt": "one\ntwo\nthree",
      "kind.txt": { mode: "120000", data: "edited.txt" },
      "added ünïcode.txt": "a\nb\n",
      "lines-20000.txt": "l\n".repeat(20_000),
      "lines-20001.txt": "l\n".repeat(20_001),
      "bytes-most.txt": ofBytes(500 * 1024),
      "bytes-more.txt": ofBytes(500 * 1024 + 1),
      // Bytes count, not characters: git prints them as they are.
      "latin1.txt": Buffer.from("é\n".repeat(16_000) + "e".repeat(455_000), "latin1"),
    },
  });
  call = clientOf(scenario.github, scenario.installation);
});
afterAll(() => scenario.github.close());

type Side = "LEFT" | "RIGHT";
const at = (path: string, side: Side, line: number, start_line?: number) => ({
  path,
  side,
  line,
  ...(start_line === undefined ? {} : { start_line, start_side: side }),
  body: "Look.",
});

describe("a line of the diff takes a comment, any other does not", () => {
  it.each([
    ["edited.txt", "RIGHT", 6, false],
    ["edited.txt", "RIGHT", 7, true],
    ["edited.txt", "RIGHT", 10, true],
    ["edited.txt", "LEFT", 10, true],
    ["edited.txt", "RIGHT", 13, true],
    ["edited.txt", "RIGHT", 14, false],
    ["edited.txt", "LEFT", 14, false],
    ["edited.txt", "LEFT", 20, true],
    ["edited.txt", "RIGHT", 22, true],
    ["edited.txt", "RIGHT", 23, false],
    ["edited.txt", "LEFT", 23, true],
    ["edited.txt", "LEFT", 36, false],
    ["edited.txt", "RIGHT", 36, true],
    ["edited.txt", "RIGHT", 42, true],
    ["edited.txt", "RIGHT", 43, false],
    ["edited.txt", "LEFT", 43, true],
    ["edited.txt", "RIGHT", 0, false],
    ["edited.txt", "RIGHT", 1000, false],
    ["gone.txt", "LEFT", 3, true],
    ["gone.txt", "RIGHT", 1, false],
    ["new/name.txt", "RIGHT", 5, true],
    ["new/name.txt", "LEFT", 5, true],
    ["new/name.txt", "RIGHT", 20, false],
    ["old/name.txt", "LEFT", 5, false],
    ["same.txt", "RIGHT", 1, false],
    ["image.bin", "RIGHT", 1, false],
    ["copy.txt", "RIGHT", 60, true],
    ["copy.txt", "LEFT", 1, false],
    ["dashes.sql", "LEFT", 1, true],
    ["dashes.sql", "LEFT", 2, true],
    ["dashes.sql", "RIGHT", 2, true],
    ["kind.txt", "RIGHT", 1, true],
    ["kind.txt", "LEFT", 1, false],
    ["no-newline.txt", "LEFT", 2, true],
    ["no-newline.txt", "RIGHT", 3, true],
    ["no-newline.txt", "RIGHT", 4, false],
    ["added ünïcode.txt", "RIGHT", 2, true],
    ["added ünïcode.txt", "RIGHT", 3, false],
    ["lines-20000.txt", "RIGHT", 20_000, true],
    ["lines-20001.txt", "RIGHT", 1, false],
    ["bytes-most.txt", "RIGHT", 512, true],
    ["bytes-more.txt", "RIGHT", 1, false],
    ["latin1.txt", "RIGHT", 1, true],
  ] as const)("%s %s %i: %s", async (path, side, line, taken) => {
    const commit_id = headOf(scenario.pull);
    const alone = await call(`POST ${comments}`, { ...at(path, side, line), commit_id });
    expect(alone.status).toBe(taken ? 201 : 422);
    const review = await call(`POST ${reviews}`, {
      event: "COMMENT",
      body: "",
      comments: [at(path, side, line)],
    });
    expect(review.status).toBe(taken ? 200 : 422);
    if (taken) {
      expect(alone.body).toMatchObject({
        path,
        side,
        line,
        commit_id,
        original_line: line,
        subject_type: "line",
      });
    }
  });

  it.each([
    [at("edited.txt", "RIGHT", 10, 8), undefined],
    [at("edited.txt", "LEFT", 23, 17), undefined],
    [at("edited.txt", "RIGHT", 10, 10), "Pull request review thread start line must precede the end line."],
    [at("edited.txt", "RIGHT", 10, 12), "Pull request review thread start line must precede the end line."],
    [at("edited.txt", "RIGHT", 18, 10), "Start line could not be resolved"],
    [at("edited.txt", "RIGHT", 10, 3), "Start line could not be resolved"],
    [{ ...at("edited.txt", "RIGHT", 10), start_side: "LEFT", start_line: 10 }, undefined],
    [
      { ...at("edited.txt", "LEFT", 10), start_side: "RIGHT", start_line: 10 },
      "Pull request review thread start line must precede the end line.",
    ],
    [at("same.txt", "RIGHT", 1), "Path could not be resolved"],
    [{ path: "edited.txt", body: "No line." }, "Line could not be resolved"],
    [at("lines-20001.txt", "RIGHT", 1), "Pull request review thread path diff too large"],
  ])("a range in one hunk is taken: %j", async (comment, refusal) => {
    const { status, body } = await call(`POST ${reviews}`, { event: "COMMENT", comments: [comment] });
    expect(status).toBe(refusal ? 422 : 200);
    if (refusal)
      expect(body).toMatchObject({ message: "Unprocessable Entity", errors: [refusal], status: "422" });
  });

  it("a file whose diff is too large is listed without a patch, and takes comments as a file alone", async () => {
    const commit_id = headOf(scenario.pull);
    const { body: files } = await call("GET /repos/octo-org/shop/pulls/1/files?per_page=100");
    const long = { path: "lines-20001.txt", commit_id };
    const onLine = await call(`POST ${comments}`, { ...at(long.path, "RIGHT", 1), commit_id });
    const onFile = await call(`POST ${comments}`, { ...long, subject_type: "file", body: "Look." });

    const listed = (name: string) => files.find(({ filename }: { filename: string }) => filename === name);
    expect(listed("lines-20000.txt")).toHaveProperty("patch");
    expect(listed(long.path)).not.toHaveProperty("patch");
    expect(listed(long.path)).toMatchObject({ additions: 20_001 });
    expect(onLine.body.errors[0].message).toBe("pull_request_review_thread.path diff too large");
    expect(onFile.status).toBe(201);
  });
});
