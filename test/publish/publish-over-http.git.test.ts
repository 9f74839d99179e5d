import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HttpPublication, inline, onFile, unplaced } from "./http-publication.ts";

let github: HttpPublication;
beforeAll(async () => {
  github = await HttpPublication.start();
});
beforeEach(() => github.reset());
afterEach(() => github.expectUnderstood());
afterAll(() => github[Symbol.asyncDispose]());

const all = [inline(9), inline(10), inline(40), onFile, unplaced];
const whole = {
  reviews: ["COMMENTED"],
  pending: 0,
  comments: [9, 10, 40, "file"],
  summaries: 1,
  annotations: [],
  checks: ["completed neutral"],
};

describe("publishing to a GitHub that knows the diff", () => {
  it("sends what GitHub describes, and all of it stands", async () => {
    expect(await github.publish(all)).toMatchObject({
      ...{
        kind: "published",
        posted: 4,
        annotated: 0,
        listed: 1,
        standing: 0,
        dismissed: 0,
        fixed: 0,
        notices: [],
      },
    });
    expect(github.standing).toEqual(whole);
    expect(github.summary).toContain("Nobody can place this");
  });

  it("leaves out the one comment that has no place in the diff, and says why in the summary", async () => {
    expect(await github.publish([...all, inline(25, { title: "Far away" })])).toMatchObject({
      ...{ posted: 4, listed: 2 },
    });
    expect(github.standing).toEqual(whole);
    expect(github.summary).toMatch(
      /Far away[\s\S]*GitHub refused its line [\s\S]*Line could not be resolved/,
    );
  });

  it("leaves out all comments when none has a place, and bounds its questions", async () => {
    const elsewhere = Array.from({ length: 40 }, (_, index) => inline(index < 20 ? index + 14 : index + 24));
    const outside = elsewhere.filter(({ finding: { line } }) => line < 37 || line > 43);
    expect(await github.publish(outside)).toMatchObject({ posted: 0, listed: outside.length });
    expect(github.standing).toMatchObject({ reviews: [], pending: 0, comments: [], summaries: 1 });
    for (const { finding } of outside) expect(github.summary).toContain(`a.txt#L${finding.line})`);
    const asked = github.scenario.github.requests.filter(
      ({ method, path }) => method === "POST" && /reviews$/.test(path),
    );
    expect(asked.length).toBeLessThanOrEqual(31);
  });

  it("changes nothing when it is done again", async () => {
    await github.publish(all);
    const before = github.summary;
    expect(await github.publish(all)).toMatchObject({ posted: 4, listed: 1 });
    expect(github.standing).toEqual(whole);
    expect(github.summary).toBe(before);
  });

  it("edits the summary of an earlier review, and repeats no comment", async () => {
    await github.publish([inline(9)]);
    expect(await github.publish([inline(9), inline(40)], "comment:5")).toMatchObject({
      ...{ posted: 1, standing: 1 },
    });
    expect(github.standing).toMatchObject({ comments: [9, 40], summaries: 1 });
  });
});
