import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FaultKind } from "../support/github-double/faults.ts";
import type { Permissions } from "../support/github-double/model.ts";
import { HttpPublication, inline, onFile, unplaced } from "./http-publication.ts";

const removed = inline(10, { id: "removed", side: "LEFT", title: "It was needed" });
const findings = [inline(10), inline(40), removed, onFile, unplaced];
const titlesInSummary = ["It was needed", "Nobody can place this"];
const contents = { contents: "read", metadata: "read" } as const;

async function withPermissions<T>(permissions: Permissions, work: (github: HttpPublication) => Promise<T>) {
  await using github = await HttpPublication.start({ ...contents, ...permissions });
  const done = await work(github);
  github.expectUnderstood();
  return done;
}
const checkText = ({ scenario }: HttpPublication) => scenario.repository.checkRuns[0]?.output.text ?? "";

describe("without a permission", () => {
  it("for reviews, findings on lines are annotations and the summary says how many and what is missing", () =>
    withPermissions({ pull_requests: "read", issues: "write", checks: "write" }, async (github) => {
      expect(await github.publish(findings)).toMatchObject({ posted: 0, annotated: 2, listed: 3 });
      expect(github.standing).toMatchObject({
        reviews: [],
        comments: [],
        annotations: [10, 40],
        summaries: 1,
      });
      expect(github.standing.checks).toEqual(["completed neutral"]);
      expect(github.summary).toContain("2 findings are annotations of the [check run](");
      expect(github.summary).toContain('Give Hunkwise the permission "Pull requests: Read and write"');
      for (const title of titlesInSummary) expect(github.summary).toContain(title);
      const [run] = github.scenario.repository.checkRuns;
      expect(github.summary).toContain(`/octo-org/shop/runs/${run?.id})`);
      expect(run?.annotations[0]).toMatchObject({
        ...{ path: "a.txt", startLine: 10, endLine: 10, level: "failure" },
        title: "High: The condition assigns instead of comparing",
      });
    }));

  it("for checks, the summary says so", () =>
    withPermissions({ pull_requests: "write" }, async (github) => {
      expect(await github.publish(findings)).toMatchObject({ posted: 4, annotated: 0, listed: 1 });
      expect(github.standing).toMatchObject({ comments: [10, 10, 40, "file"], checks: [] });
      expect(github.summary).toContain('Give Hunkwise the permission "Checks: Read and write"');
    }));

  it("for reviews and checks, the summary holds everything", () =>
    withPermissions({ pull_requests: "read", issues: "write" }, async (github) => {
      expect(await github.publish(findings)).toMatchObject({ posted: 0, annotated: 0, listed: 5 });
      expect(github.standing).toMatchObject({ comments: [], checks: [], summaries: 1 });
      for (const permission of ["Checks", "Pull requests"])
        expect(github.summary).toContain(`"${permission}: Read and write"`);
      for (const line of [10, 40]) expect(github.summary).toContain(`a.txt#L${line})`);
    }));

  it("for comments of any kind, the check run holds everything", () =>
    withPermissions({ pull_requests: "read", issues: "read", checks: "write" }, async (github) => {
      expect(await github.publish(findings)).toMatchObject({ posted: 0, annotated: 2, listed: 3 });
      expect(github.standing).toMatchObject({ comments: [], annotations: [10, 40], summaries: 0 });
      for (const title of titlesInSummary) expect(checkText(github)).toContain(title);
      expect(checkText(github)).toContain('permission "Pull requests: Read and write"');
      expect(checkText(github)).toContain("No summary comment");
    }));

  it("for anything, publishing fails and says all of it", () =>
    withPermissions({ pull_requests: "read", issues: "read" }, async (github) => {
      await expect(github.publish(findings)).rejects.toMatchObject({
        code: "github_forbidden",
        message: expect.stringMatching(
          /Nothing could be posted.*No summary comment.*No check run.*"Checks: Read and/s,
        ),
      });
    }));
});

describe("a channel that GitHub closes", () => {
  let github: HttpPublication;
  beforeAll(async () => {
    github = await HttpPublication.start();
  });
  beforeEach(() => github.reset());
  afterEach(() => github.expectUnderstood());
  afterAll(() => github[Symbol.asyncDispose]());

  it("by locking the conversation is told with what opens it, and the check run holds everything", async () => {
    github.scenario.pull.locked = true;
    expect(await github.publish(findings)).toMatchObject({ posted: 0, annotated: 2, listed: 3 });
    expect(github.standing).toMatchObject({ comments: [], pending: 0, annotations: [10, 40], summaries: 0 });
    expect(checkText(github)).toContain("Unlock the conversation of the pull request");
    const asked = github.scenario.github.requests.filter(
      ({ path, method }) => method === "POST" && /reviews$/.test(path),
    );
    expect(asked).toHaveLength(1);
  });

  const gone: FaultKind = { answer: { status: 404, body: { message: "Not Found" } } };
  const archived = { message: "Repository was archived so is read-only." };

  it.each([
    ["404", gone],
    ["an archived repository", { answer: { status: 403, body: archived } }],
  ] as [string, FaultKind][])(
    "by %s to reviews hands their findings to the check run",
    async (_name, kind) => {
      github.faults.add({ match: /^POST .*\/reviews$/, nth: "all", kind });
      expect(await github.publish(findings)).toMatchObject({ posted: 1, annotated: 2, listed: 2 });
      expect(github.standing).toMatchObject({ comments: ["file"], annotations: [10, 40] });
    },
  );

  it("by 404 to a comment on a file lists it with both reasons", async () => {
    github.faults.add({ match: /^POST .*\/pulls\/1\/comments$/, nth: "all", kind: gone });
    expect(await github.publish(findings)).toMatchObject({ posted: 3, listed: 2 });
    expect(github.summary).toContain("it is about the whole file; comments on files are not possible here");
  });

  it("by 404 to the summary hands it to the check run", async () => {
    github.faults.add({ match: /^POST .*\/issues\/1\/comments$/, nth: "all", kind: gone });
    expect(await github.publish(findings)).toMatchObject({ posted: 4, listed: 1 });
    expect(checkText(github)).toContain("Nobody can place this");
  });

  it.each(["POST .*/check-runs$", "GET .*/check-runs$"])(
    "by 404 to %s is told in the summary",
    async (match) => {
      github.faults.add({ match: new RegExp(`^${match}`), nth: "all", kind: gone });
      expect(await github.publish(findings)).toMatchObject({ posted: 4, listed: 1 });
      expect(github.summary).toContain("⚠️ No check run");
    },
  );

  describe("to reviews, so that the check run takes sixty annotations in two requests:", () => {
    const sixty = Array.from({ length: 60 }, (_, index) => inline(index + 1));
    const lines = sixty.map(({ finding }) => finding.line);
    const oops = { status: 500, body: { message: "Server Error" } };
    const faults: [string, FaultKind][] = [
      ["a request that got lost", "reset-before"],
      ["an answer that got lost", "reset-after"],
      ["half an answer", "truncated"],
      ["502 with a page of HTML", "bad-gateway"],
      ["the same although it was carried out", "bad-gateway-after"],
      ["500 although it was carried out", { answerAfter: oops }],
      ["a secondary limit", { secondaryLimit: 403, retryAfterSeconds: 5 }],
      ["a primary limit for an hour", { primaryLimitUntil: new Date(Date.now() + 3_600_000) }],
    ];
    it.each(faults.flatMap(([name, kind]) => [1, 2, 3].map((nth) => ({ name, kind, nth }))))(
      "$name at request $nth ends with each of them once",
      async ({ kind, nth }) => {
        github.scenario.pull.locked = true;
        github.faults.add({ match: /^PATCH .*\/check-runs\/\d+$/, nth, kind });
        expect(await github.publishAsJob(sixty)).toMatchObject({ annotated: 60, listed: 0 });
        expect(github.faults.struck).toHaveLength(1);
        expect(github.standing.annotations.toSorted((a, b) => Number(a) - Number(b))).toEqual(lines);
        expect(github.standing.checks).toEqual(["completed neutral"]);
      },
    );
  });
});
