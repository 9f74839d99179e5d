import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadCases } from "../../scripts/eval/load-cases.ts";
import { casesOfBenchmark } from "../../scripts/eval/public-benchmarks.ts";

const fixtures = resolve(import.meta.dirname, "../../fixtures/eval");
const [martian, aacr] = [join(fixtures, "code-review-bench"), join(fixtures, "aacr-bench")];
const textOf = (...parts: readonly string[]) => readFileSync(join(...parts), "utf8");

describe("Martian's Code Review Bench", () => {
  it("Golden comments become pull requests", async () => {
    const cases = await loadCases(martian);
    expect(cases.map(({ name, title, repository, change }) => ({ name, title, repository, change }))).toEqual(
      [
        {
          name: "cart-12",
          title: "Average the prices of a cart",
          repository: "example-shop/cart",
          change: { kind: "pull", number: 12 },
        },
        {
          name: "cart-7",
          title: "Rename the cart's fields",
          repository: "example-shop/cart",
          change: { kind: "pull", number: 7 },
        },
        {
          name: "post-copy-1",
          title: "Send parcels in the order of their weight",
          repository: "example-review/post-copy",
          change: { kind: "pull", number: 1 },
        },
      ],
    );
  });

  it("Golden comments become issues without a place; style and speculation count neither way", () => {
    const [cart] = casesOfBenchmark(textOf(martian, "shop.json"), "shop.json");
    expect(cart?.known).toEqual([
      {
        ...{ place: null, alternatives: [], context: [], severity: "high" },
        description: "average() divides by the number of items, which is zero for an empty cart.",
      },
      {
        ...{ place: null, alternatives: [], context: [], severity: "critical" },
        description: "Two requests may both read the stock before one of them writes it.",
      },
    ]);
    expect(cart?.acceptable).toEqual([
      { file: null, line: null, description: "The parameter could have a longer name than n." },
      { file: null, line: null, description: "Somebody might pass a negative discount one day." },
    ]);
  });

  it("Every golden comment counts in a version without categories", () => {
    const [post] = casesOfBenchmark(textOf(martian, "post.json"), "post.json");
    expect(post?.known.map(({ severity }) => severity)).toEqual(["medium"]);
    expect(post?.acceptable).toEqual([]);
  });
});

describe("AACR-Bench", () => {
  it("A case has the commits of its pull request, and the reviewed one is the head", async () => {
    const cases = await loadCases(aacr);
    expect(cases.map(({ name, title, repository, change }) => ({ name, title, repository, change }))).toEqual(
      [
        {
          ...{ name: "lamp-31", title: "", repository: "example-lights/lamp" },
          change: { kind: "commits", base: "1".repeat(40), head: "2".repeat(40) },
        },
        {
          ...{ name: "net.lamp-5", title: "", repository: "Example.Org/net.lamp" },
          change: { kind: "commits", base: "3".repeat(40), head: "4".repeat(40) },
        },
      ],
    );
  });

  it("An issue has its lines and side, even if the range ends before it begins", () => {
    const [lamp] = casesOfBenchmark(textOf(aacr, "positive_samples.json"), "p.json");
    expect(lamp?.known.map(({ place }) => place)).toEqual([
      { file: "internal/lamp.go", lines: [41, 42, 43], at: "head" },
      { file: "internal/bulb.go", lines: [8, 9], at: "merge_base" },
    ]);
    expect(lamp?.known[0]?.description).toBe(
      "The lock is taken twice on this path, so the second caller waits for ever.",
    );
  });

  it("What annotators rejected is no issue", async () => {
    const [lamp] = await loadCases(aacr, ["lamp-31"]);
    expect(lamp?.known).toHaveLength(2);
    const alone = loadCases(join(aacr, "negative_samples.json"));
    await expect(alone).rejects.toThrow("holds only what the annotators of AACR-Bench rejected");
  });
});

describe("a published file", () => {
  it("A published file can be named alone, and its cases by their names", async () => {
    const [one, ...others] = await loadCases(join(martian, "shop.json"), ["cart-7"]);
    expect([one?.name, others]).toEqual(["cart-7", []]);
    await expect(loadCases(join(martian, "shop.json"), ["cart-8"])).rejects.toMatchObject({
      message: expect.stringContaining("no case 'cart-8'"),
      remedy: "There are cart-12, cart-7.",
    });
  });

  it("A case changes with its issues, not with the file's folder", () => {
    const text = textOf(martian, "post.json");
    const digest = (content: string, file: string) => casesOfBenchmark(content, file)[0]?.digest;
    expect(digest(text, "a.json")).toBe(digest(text, "b.json"));
    expect(digest(text.replace("Medium", "High"), "a.json")).not.toBe(digest(text, "a.json"));
    expect(digest(text.replace("boolean", "number"), "a.json")).not.toBe(digest(text, "a.json"));
  });

  const golden = { comment: "Wrong.", severity: "Low" };
  const entry = { pr_title: "x", url: "https://github.com/a/b/pull/1", comments: [golden] };
  const comment = { note: "Wrong.", path: "a.go", side: "right", from_line: 1, to_line: 2 };
  const [source_commit, target_commit] = ["1".repeat(40), "2".repeat(40)];
  const commits = { source_commit, target_commit };
  const sample = { ...commits, githubPrUrl: entry.url, comments: [comment] };

  it.each<[string, unknown, string]>([
    ["an object", { [entry.url]: entry }, "f.json has the form of no benchmark"],
    ["an empty list", [], "f.json has the form of no benchmark"],
    ["a list of words", ["a"], "f.json has the form of no benchmark"],
    ["other entries", [{ instance_id: "a", patch: "" }], "f.json has the form of no benchmark"],
    [
      "a repository's address",
      [{ ...entry, url: "https://github.com/a/b" }],
      "[0].url must be the address of a pull",
    ],
    [
      "an address elsewhere",
      [{ ...entry, url: "https://example.com/a/b/pull/1" }],
      "[0].url must be the address",
    ],
    ["no title", [{ ...entry, pr_title: undefined }], "f.json: [0].pr_title"],
    [
      "an unknown severity",
      [entry, { ...entry, comments: [{ ...golden, severity: "Huge" }] }],
      "[1].comments[0].severity",
    ],
    ["an empty comment", [{ ...entry, comments: [{ ...golden, comment: " " }] }], "[0].comments[0].comment"],
    ["a short commit", [{ ...sample, target_commit: "abc" }], "[0].target_commit must be a full object name"],
    [
      "a path outside",
      [{ ...sample, comments: [{ ...comment, path: "../a" }] }],
      "[0].comments[0].path must be a path within",
    ],
    ["line 0", [{ ...sample, comments: [{ ...comment, from_line: 0 }] }], "[0].comments[0].from_line"],
    [
      "a range without end",
      [{ ...sample, comments: [{ ...comment, to_line: 1e9 }] }],
      "[0].comments[0] has 1000000000 lines",
    ],
    ["a third side", [{ ...sample, comments: [{ ...comment, side: "both" }] }], "[0].comments[0].side"],
  ])("with %s is refused with the place of the fault", (_, value, message) => {
    expect(() => casesOfBenchmark(JSON.stringify(value), "f.json")).toThrow(message);
  });

  it("A published file that is not JSON causes an error with its name", () => {
    expect(() => casesOfBenchmark("[", "f.json")).toThrow("f.json is not JSON");
  });
});
