import { describe, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import { AppError } from "../../../src/core/errors.ts";
import { PostedFinding } from "../../../src/core/ledger/entry.ts";
import { emptyState, type LedgerState } from "../../../src/core/ledger/state.ts";
import type { FailedCheck } from "../../../src/pull/github/pull-request-api.ts";
import type { ChangedFile } from "../../../src/repo/diff-source.ts";
import {
  earlierFindings,
  type HistorySource,
  historyOf,
  pullTextOf,
} from "../../../src/server/jobs/prompt-context.ts";
import {
  allHunks,
  contentHashBy,
  findReviewedHunks,
  unreadHashes,
} from "../../../src/tasks/reviewed/known-change.ts";
import { History } from "../../../src/tasks/shapes/review-input.ts";
import { ambiguous, MemoryGitHub, refusal } from "../../pull/publish/memory-github.ts";
import { sampleEntry, sampleFinding } from "../../report/sample-result.ts";
import { changedFile } from "../../tasks/review/plan/changed-file.ts";

const [present, before] = ["b".repeat(40), "a".repeat(40)];
const hash = (letter: string) => letter.repeat(15);
/** Among the hashes of the file that such a one is of. */
const due = (letter: string) => `${letter.repeat(3)}${"-".repeat(12)}`;
const unit = (hashes: string[], over: object = {}): TrajectoryEntry => ({
  ...{ kind: "unit", head: before, loop: "review:1", hashes, findings: [] },
  ...over,
});
const state = (over: Partial<LedgerState>): LedgerState => ({ ...emptyState, ...over });
const read = (...hashes: string[]) => ({ unit: "change" as const, hashes });
const history = (over: Partial<HistorySource> = {}) =>
  History.parse(
    historyOf({
      ...{ key: "key", state: emptyState, mode: "new", recorded: [], head: present, privatePaths: [] },
      ...over,
    }),
  );

describe("the history of a review", () => {
  const carried = [{ finding: sampleFinding(), standing: "listed" as const, reason: "why" }];
  const known = state({ reviewed: read(hash("a")), carried, summary: "It adds a cart." });

  it("The history of a review is what the summary comment remembers", () => {
    expect(history({ state: known })).toEqual({
      key: "key",
      reviewed: read(hash("a")),
      carried,
      summary: "It adds a cart.",
    });
  });

  it.each(["full", "dry_run"] as const)(
    "The history of a review has no read content if the review is %s",
    (mode) => {
      expect(history({ state: known, mode })).toMatchObject({ reviewed: null, carried });
    },
  );

  it("The history of a review says nothing of private files", () => {
    expect(history({ state: known, privatePaths: ["src/cart.ts"] }).carried).toEqual([]);
  });
});

it("Units of a canceled review are read and their findings carried on, without a second look", () => {
  const finding = sampleFinding({ id: "found" });
  const recorded = [unit([hash("a"), hash("b")], { findings: [finding] })];
  expect(history({ recorded })).toMatchObject({
    reviewed: read(hash("a"), hash("b"), due("a"), due("b")),
    carried: [{ finding, standing: "unpublished", reason: "" }],
  });
});

it("Units of a canceled review of the head that is reviewed now are left to the record of their loops", () => {
  const recorded = [unit([hash("a")], { head: present, findings: [sampleFinding()] })];
  expect(history({ recorded })).toMatchObject({ reviewed: null, carried: [] });
});

it("Units of a canceled review add to what was read before, each content as often as one change held it", () => {
  const recorded = [
    unit([hash("a"), hash("b")]),
    unit([hash("b")], { loop: "review:2" }),
    unit([hash("b"), hash("c")], { head: "c".repeat(40) }),
  ];
  const { reviewed } = history({ state: state({ reviewed: read(hash("a"), hash("z")) }), recorded });
  const contents = reviewed?.hashes.filter((one) => !one.includes("-"));
  expect(contents?.toSorted()).toEqual(["a", "b", "b", "c", "z"].map(hash));
});

it("Units of a canceled review count once although their loop was replayed", () => {
  const recorded = [unit([hash("a")]), unit([hash("a")])];
  expect(history({ recorded }).reviewed).toEqual(read(hash("a"), due("a")));
});

it("Units of a canceled review leave it to this review to look at earlier findings in the files that they have read", () => {
  const files = ["a.ts", "b.ts"].map((path) => ({ ...changedFile({ path }), changes: [["x"]] }));
  const recorded = [unit([contentHashBy("key")("a.ts", ["x"])])];
  const known = findReviewedHunks(files, history({ recorded }), {
    shownDiff: () => Promise.reject(new Error()),
  });
  expect(files.map(({ change }) => known.hasLost(change.path))).toEqual([true, false]);
});

it("Units of a canceled review are read again if what they were read beside is gone, although nobody had read that", () => {
  const file = (path: string, change: string) => ({ ...changedFile({ path }), changes: [[change]] });
  const [handler, guard] = [file("a.ts", "handler"), file("b.ts", "guard")];
  const contentHash = contentHashBy("key");
  const recorded = [
    unit([contentHash("a.ts", ["handler"])], { beside: unreadHashes(guard, allHunks(guard), contentHash) }),
  ];
  const knownOf = (files: readonly ChangedFile[]) =>
    findReviewedHunks(files, history({ recorded }), { shownDiff: () => Promise.reject(new Error()) }).known(
      "a.ts",
    );
  expect(knownOf([handler, guard])).toEqual(new Set([1]));
  expect(knownOf([handler])).toEqual(new Set());
});

it("Units of a canceled review lose none of two faults in one piece of code that two loops gave one id", () => {
  const [one, other] = [sampleFinding({ title: "One" }), sampleFinding({ title: "Other" })];
  const elsewhere = sampleFinding({ title: "One", line: 90 });
  const carried = [{ finding: sampleFinding({ title: "Third" }), standing: "listed" as const, reason: "" }];
  const recorded = [unit([], { findings: [one, other, elsewhere, one] })];
  const found = history({ state: state({ carried }), recorded }).carried.slice(1);
  expect(found.map(({ finding }) => finding)).toEqual([one, other, elsewhere]);
});

it("Units of a canceled review say what the change does where no summary was published yet", () => {
  const recorded = [
    unit([], { summary: "It adds a cart." }),
    unit([], { loop: "review:2", summary: "It adds a shop." }),
  ];
  expect(history({ recorded }).summary).toBe("It adds a cart.\n\nIt adds a shop.");
  expect(history({ recorded, state: state({ summary: "Both." }) }).summary).toBe("Both.");
});

it("Units of a canceled review leave out what is no finding, what is carried already, and private files", () => {
  const carried = [{ finding: sampleFinding({ id: "old" }), standing: "listed" as const, reason: "why" }];
  const secret = sampleFinding({ id: "secret", path: "keys/a.ts" });
  const recorded = [unit([], { findings: [{ id: "x" }, null, sampleFinding({ id: "old" }), secret] })];
  expect(history({ state: state({ carried }), recorded, privatePaths: ["keys/"] }).carried).toEqual(carried);
});

it("Units of a canceled review are read again if whole files are remembered", () => {
  const reviewed = { unit: "file" as const, hashes: [hash("f")] };
  const recorded = [unit([hash("a")], { findings: [sampleFinding()] })];
  expect(history({ state: state({ reviewed }), recorded })).toMatchObject({ reviewed, carried: [] });
});

describe("earlier findings", () => {
  const told = (entries = [sampleEntry()], privatePaths: string[] = []) =>
    earlierFindings({ entries }, privatePaths).map((one) => PostedFinding.parse(one));

  it("Earlier findings come with what is known of them, their texts cut", () => {
    const entry = sampleEntry({
      comment: 9,
      line: 7,
      start_line: 5,
      original_line: 3,
      symbol: "Cart.total",
      code: "c",
      text: "t".repeat(5_000),
      replies: ["1", "2", "3", "4", "5", "z".repeat(600)],
    });
    const [earlier] = told([entry]);
    expect(earlier).toMatchObject({
      ...{ comment: 9, path: "src/cart.ts", line: 7, start_line: 5, original_line: 3 },
      ...{ symbol: "Cart.total", code: "c", state: "open", title: "It was said before" },
    });
    expect(earlier?.text).toBe(`${"t".repeat(4_000)}… [1000 more characters]`);
    expect(earlier?.replies).toEqual(["2", "3", "4", "5", `${"z".repeat(500)}… [100 more characters]`]);
  });

  it("Earlier findings say nothing of private files, not even as evidence", () => {
    const entries = [sampleEntry({ files: ["keys/a.ts", "src/b.ts"] }), sampleEntry({ path: "keys/a.ts" })];
    expect(told(entries, ["keys/"])).toMatchObject([{ path: "src/cart.ts", files: ["src/b.ts"] }]);
  });

  it("Earlier findings hold those whose comments were deleted, of which only the id is known", () => {
    const deleted = sampleEntry({ comment: null, path: "", state: "dismissed" });
    expect(told([deleted], ["*.ts"])).toMatchObject([{ comment: null, id: "e1", state: "dismissed" }]);
  });
});

const annotation = { path: "src/a.ts", startLine: 1, endLine: 2, level: "failure", message: "expected 2" };
const check = (over: Partial<FailedCheck> = {}): FailedCheck => ({
  ...{ name: "test", conclusion: "failure", title: "1 failed", summary: "a.ts", annotations: [annotation] },
  ...over,
});

function textOf(github: MemoryGitHub, warnings: string[] = [], config: object = {}) {
  return pullTextOf({
    api: github,
    pull: github.state,
    repository: { owner: "octo", name: "shop" },
    webUrl: "https://github.com",
    config: RepoConfig.parse(config),
    warn: (notice) => warnings.push(notice),
  });
}

it("The issues that a pull request names come with title and body, those it closes first, without itself", async () => {
  const github = new MemoryGitHub();
  Object.assign(github.state, { title: "After #2", body: "Fixes #3, see #7 and #4." });
  for (const number of [2, 3, 4, 7]) github.issues.push({ number, title: `Issue ${number}`, body: "Text" });

  expect((await textOf(github)).issues).toEqual([
    { number: 3, title: "Issue 3", body: "Text" },
    { number: 2, title: "Issue 2", body: "Text" },
    { number: 4, title: "Issue 4", body: "Text" },
  ]);
});

it("The issues that a pull request names are five at most, cut, and none that is not there", async () => {
  const github = new MemoryGitHub();
  github.state.body = "#10 #11 #12 #13 #14 #15";
  for (const number of [10, 12, 13, 14, 15])
    github.issues.push({ number, title: "T", body: "x".repeat(9_000) });

  const { issues } = await textOf(github);

  expect(issues.map(({ number }) => number)).toEqual([10, 12, 13, 14]);
  expect(issues.every(({ body }) => body.length < 4_100 && body.endsWith("[5000 more characters]"))).toBe(
    true,
  );
  expect(github.count("issue")).toBe(5);
});

it("Failed checks come with their output and annotations, cut", async () => {
  const github = new MemoryGitHub();
  github.failed.push(check(), check({ title: "", summary: "y".repeat(5_000), annotations: [] }));

  const { checks } = await textOf(github);

  expect(checks[0]).toEqual({
    ...{ name: "test", conclusion: "failure", summary: "1 failed\n\na.ts" },
    annotations: [{ path: "src/a.ts", start_line: 1, end_line: 2, level: "failure", message: "expected 2" }],
  });
  expect(checks[1]?.summary.length).toBeLessThan(2_100);
});

it("Failed checks say nothing of private files", async () => {
  const github = new MemoryGitHub();
  github.failed.push(check({ annotations: [{ ...annotation, path: "secrets/key.ts" }, annotation] }));

  const { checks } = await textOf(github, [], { paths: { private: ["secrets/"] } });

  expect(checks[0]?.annotations.map(({ path }) => path)).toEqual(["src/a.ts"]);
});

it.each([
  ["issue", "issues"],
  ["failedChecks", "checks"],
] as const)(
  "What cannot be read is left out when GitHub fails `%s`, with a warning, beside all else",
  async (call, field) => {
    const github = new MemoryGitHub();
    github.state.body = "#1";
    github.issues.push({ number: 1, title: "T", body: "" });
    github.failed.push(check());
    github.faults.push({ call, error: ambiguous() });
    const warnings: string[] = [];

    const text = await textOf(github, warnings);

    const lengths = { issues: text.issues.length, checks: text.checks.length };
    expect(lengths).toEqual({ issues: 1, checks: 1, [field]: 0 });
    expect(warnings).toHaveLength(1);
  },
);

it("What cannot be read is not logged when the job ends", async () => {
  const github = new MemoryGitHub();
  github.state.body = "#1";
  github.faults.push({ call: "issue", error: new AppError("aborted", "called off") });
  github.faults.push({ call: "failedChecks", error: refusal("github_forbidden") });
  const warnings: string[] = [];
  await textOf(github, warnings);

  expect(warnings.join()).toMatch(/^The checks of the head/);
});
