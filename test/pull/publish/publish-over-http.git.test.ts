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

describe("Publishing to a GitHub that knows the diff", () => {
  it("A publication sends what GitHub describes, and all of it is accepted", async () => {
    expect(await github.publish(all)).toMatchObject({
      ...{
        kind: "published",
        posted: 4,
        annotated: 0,
        listed: 1,
        postedBefore: 0,
        dismissed: 0,
        fixed: 0,
        notices: [],
      },
    });
    expect(github.onGitHub).toEqual(whole);
    expect(github.summary).toContain("Nobody can place this");
  });

  it("A publication leaves out the one comment without a place in the diff, and says why", async () => {
    expect(await github.publish([...all, inline(25, { title: "Far away" })])).toMatchObject({
      ...{ posted: 4, listed: 2 },
    });
    expect(github.onGitHub).toEqual(whole);
    expect(github.summary).toMatch(
      /Far away[\s\S]*GitHub refused its line [\s\S]*Line could not be resolved/,
    );
  });
});
