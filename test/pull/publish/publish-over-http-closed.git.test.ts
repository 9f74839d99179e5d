import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FaultKind } from "../../support/github-double/faults.ts";
import { HttpPublication, inline, onFile, unplaced } from "./http-publication.ts";

const removed = inline(10, { id: "removed", side: "LEFT", title: "It was needed" });
const findings = [inline(10), inline(40), removed, onFile, unplaced];
const checkText = ({ scenario }: HttpPublication) => scenario.repository.checkRuns[0]?.output.text ?? "";

describe("A channel that GitHub closes", () => {
  let github: HttpPublication;
  beforeAll(async () => {
    github = await HttpPublication.start();
  });
  beforeEach(() => github.reset());
  afterEach(() => github.expectUnderstood());
  afterAll(() => github[Symbol.asyncDispose]());

  it("A locked conversation is named with its remedy, and the check run has everything", async () => {
    github.scenario.pull.locked = true;
    expect(await github.publish(findings)).toMatchObject({ posted: 0, annotated: 2, listed: 3 });
    expect(github.onGitHub).toMatchObject({ comments: [], pending: 0, annotations: [10, 40], summaries: 0 });
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
    "An answer %s to reviews moves their findings to the check run",
    async (_name, kind) => {
      github.faults.add({ match: /^POST .*\/reviews$/, nth: "all", kind });
      expect(await github.publish(findings)).toMatchObject({ posted: 1, annotated: 2, listed: 2 });
      expect(github.onGitHub).toMatchObject({ comments: ["file"], annotations: [10, 40] });
    },
  );

  it("An answer 404 to a comment on a file lists it with both reasons", async () => {
    github.faults.add({ match: /^POST .*\/pulls\/1\/comments$/, nth: "all", kind: gone });
    expect(await github.publish(findings)).toMatchObject({ posted: 3, listed: 2 });
    expect(github.summary).toContain("it is about the whole file; comments on files are not possible here");
  });

  it("An answer 404 to the summary moves it to the check run", async () => {
    github.faults.add({ match: /^POST .*\/issues\/1\/comments$/, nth: "all", kind: gone });
    expect(await github.publish(findings)).toMatchObject({ posted: 4, listed: 1 });
    expect(checkText(github)).toContain("Nobody can place this");
  });

  it.each(["POST .*/check-runs$", "GET .*/check-runs$"])(
    "An answer 404 to %s is named in the summary",
    async (match) => {
      github.faults.add({ match: new RegExp(`^${match}`), nth: "all", kind: gone });
      expect(await github.publish(findings)).toMatchObject({ posted: 4, listed: 1 });
      expect(github.summary).toContain("⚠️ No check run");
    },
  );

  describe("Sixty annotations in two requests, if reviews are closed", () => {
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
      "$name at request $nth leaves each annotation once",
      async ({ kind, nth }) => {
        github.scenario.pull.locked = true;
        github.faults.add({ match: /^PATCH .*\/check-runs\/\d+$/, nth, kind });
        expect(await github.publishAsJob(sixty)).toMatchObject({ annotated: 60, listed: 0 });
        expect(github.faults.struck).toHaveLength(1);
        expect(github.onGitHub.annotations.toSorted((a, b) => Number(a) - Number(b))).toEqual(lines);
        expect(github.onGitHub.checks).toEqual(["completed neutral"]);
      },
    );
  });
});
