import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
const root = "/repos/octo-org/shop";

beforeEach(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  call = clientOf(scenario.github, scenario.installation);
});
afterEach(() => scenario.github.close());

const one = { path: "a.txt", start_line: 1, end_line: 1, annotation_level: "notice", message: "x" };

describe("annotations of a check run", () => {
  const annotate = async (annotations: object[], id?: number) => {
    const output = { title: "T", summary: "S", annotations };
    return id === undefined
      ? call(`POST ${root}/check-runs`, { name: "Hunkwise", head_sha: headOf(scenario.pull), output })
      : call(`PATCH ${root}/check-runs/${id}`, { output });
  };

  it("are added to by every update, listed by pages, and never taken away", async () => {
    const { body: run } = await annotate(Array(50).fill(one));
    await annotate([{ ...one, title: "T", raw_details: "R", start_column: 1, end_column: 2 }], run.id);
    await call(`PATCH ${root}/check-runs/${run.id}`, { output: { title: "T", summary: "S" } });
    const path = `GET ${root}/check-runs/${run.id}/annotations`;
    expect((await call(path)).body).toHaveLength(30);
    const { body: all } = await call(`${path}?per_page=100`);
    expect(all).toHaveLength(51);
    expect(all[0]).toEqual({
      ...one,
      ...{ start_column: null, end_column: null, title: null, raw_details: null },
      blob_href: `${scenario.github.url}/octo-org/shop/blob/${headOf(scenario.pull)}/a.txt`,
    });
    expect(all[50]).toMatchObject({ title: "T", raw_details: "R", start_column: 1, end_column: 2 });
  });

  it.each([
    ["no path", { path: "" }],
    ["no message", { message: "" }],
    ["line 0", { start_line: 0 }],
    ["an end before its start", { start_line: 2 }],
    ["columns on two lines", { end_line: 2, start_column: 1, end_column: 2 }],
    ["a title of 256 characters", { title: "t".repeat(256) }],
    ["a message of more than 64 KB", { message: "é".repeat(32_769) }],
    ["details of more than 64 KB", { raw_details: "é".repeat(32_769) }],
    ["another level", { annotation_level: "error" }],
  ])("with %s are refused with all that came along", async (_name, over) => {
    const { body: run } = await annotate([one]);
    expect((await annotate([one, { ...one, ...over }], run.id)).status).toBe(422);
    expect(scenario.repository.checkRuns[0]?.annotations).toHaveLength(1);
  });

  it("may be as long as GitHub says", async () => {
    const longest = { title: "t".repeat(255), message: "m".repeat(65_536), raw_details: "r".repeat(65_536) };
    expect((await annotate([{ ...one, ...longest }])).status).toBe(201);
  });

  it("are nobody's to read without the permission", async () => {
    const { body: run } = await annotate([one]);
    const token = scenario.github.state.issueToken(scenario.installation, {
      permissions: { pull_requests: "write" },
    });
    const path = `${root}/check-runs/${run.id}/annotations`;
    expect((await clientOf(scenario.github, token)(`GET ${path}`)).status).toBe(403);
  });
});

describe("a locked conversation", () => {
  it("takes no review, no comment and no edit, each in GitHub's words", async () => {
    const { body: comment } = await call(`POST ${root}/issues/1/comments`, { body: "Hi." });
    scenario.pull.locked = true;
    const review = await call(`POST ${root}/pulls/1/reviews`, { event: "COMMENT", body: "Hi." });
    expect(review).toMatchObject({ status: 422, body: { errors: ["lock prevents review"] } });
    const fileComment = {
      path: "a.txt",
      body: "Hi.",
      commit_id: headOf(scenario.pull),
      subject_type: "file",
    };
    expect((await call(`POST ${root}/pulls/1/comments`, fileComment)).status).toBe(422);
    const message = "Unable to create comment because issue is locked.";
    expect(await call(`POST ${root}/issues/1/comments`, { body: "Hi." })).toMatchObject({
      status: 403,
      body: { message },
    });
    expect((await call(`PATCH ${root}/issues/comments/${comment.id}`, { body: "Ho." })).status).toBe(403);
    expect((await call(`GET ${root}/pulls/1`)).body.locked).toBe(true);
    expect([scenario.pull.reviews, scenario.pull.reviewComments]).toEqual([[], []]);
  });
});
