import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
const root = "/repos/octo-org/shop";
const kinds = () => scenario.github.violations.map((one) => one.kind);

beforeEach(async () => {
  scenario = await createScenario({
    base: { "a.txt": lines(40), "b.txt": "b\n" },
    head: { "a.txt": lines(40).replace("line 20\n", "line twenty\n"), "b.txt": "B\n" },
  });
  call = clientOf(scenario.github, scenario.installation);
});
afterEach(() => scenario.github.close());

const comment = { path: "a.txt", line: 20, side: "RIGHT", body: "Look." };

describe("a review", () => {
  it("is written by the App's bot, with its comments", async () => {
    const made = await call(`POST ${root}/pulls/1/reviews`, {
      event: "COMMENT",
      body: "Two.",
      comments: [comment, { ...comment, path: "b.txt", line: 1 }],
    });
    expect(made.status).toBe(200);
    expect(made.body).toMatchObject({
      state: "COMMENTED",
      user: { login: "hunkwise[bot]", type: "Bot" },
      commit_id: headOf(scenario.pull),
    });
    const of = await call(`GET ${root}/pulls/1/reviews/${made.body.id}/comments`);
    expect(of.body.map((one: { path: string }) => one.path)).toEqual(["a.txt", "b.txt"]);
    expect(of.body[0].diff_hunk).toMatch(/^@@ -17,7 \+17,7 @@[\s\S]*\n-line 20\n\+line twenty$/);
    expect(scenario.github.violations).toEqual([]);
  });

  it("is refused whole when one comment has no place, and the refusal does not say which", async () => {
    const comments = [comment, { ...comment, line: 1 }, comment];
    const { status, body } = await call(`POST ${root}/pulls/1/reviews`, {
      event: "COMMENT",
      body: "x",
      comments,
    });
    expect(status).toBe(422);
    expect(body).toMatchObject({ message: "Unprocessable Entity", errors: ["Line could not be resolved"] });
    expect(scenario.pull.reviews).toEqual([]);
    expect(scenario.pull.reviewComments).toEqual([]);
    expect(kinds()).toEqual(["refused"]);
  });

  it.each([
    [{ event: "COMMENT" }, "Review body can't be blank"],
    [{ event: "REQUEST_CHANGES", comments: [comment] }, "Review body can't be blank"],
    [
      { event: "COMMENT", body: "x", commit_id: "1".repeat(40) },
      "The commitOID is not part of the pull request",
    ],
    [{ event: "COMMENT", body: "x".repeat(65_537) }, "Body is too long (maximum is 65536 characters)"],
    [
      { event: "COMMENT", body: "x", comments: [{ ...comment, body: "x".repeat(65_537) }] },
      "Body is too long (maximum is 65536 characters)",
    ],
  ])("is refused: %#", async (body, refusal) => {
    const answer = await call(`POST ${root}/pulls/1/reviews`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([refusal]);
  });

  it("takes 65,536 characters, of any width", async () => {
    const answer = await call(`POST ${root}/pulls/1/reviews`, {
      event: "COMMENT",
      body: "🙂".repeat(65_536),
    });
    expect(answer.status).toBe(200);
  });

  it("does not approve its own pull request", async () => {
    scenario.pull.author = scenario.app.bot;
    const answer = await call(`POST ${root}/pulls/1/reviews`, { event: "APPROVE" });
    expect(answer.body.errors).toEqual(["Can not approve your own pull request"]);
  });

  it("waits for a pending one of the same author", async () => {
    expect((await call(`POST ${root}/pulls/1/reviews`, { comments: [comment] })).body.state).toBe("PENDING");
    const second = await call(`POST ${root}/pulls/1/reviews`, { event: "COMMENT", body: "x" });
    expect(second.body.errors).toEqual(["User can only have one pending review per pull request"]);
    expect((await call(`GET ${root}/pulls/1/comments`)).body).toEqual([]);
  });

  it("may be pending and deleted, and stays once it was submitted", async () => {
    const { body } = await call(`POST ${root}/pulls/1/reviews`, { comments: [comment] });
    expect((await call(`GET ${root}/pulls/1/reviews`)).body).toMatchObject([{ state: "PENDING" }]);
    expect((await call(`DELETE ${root}/pulls/1/reviews/${body.id}`)).status).toBe(200);
    expect([scenario.pull.reviews, scenario.pull.reviewComments]).toEqual([[], []]);
    const submitted = await call(`POST ${root}/pulls/1/reviews`, { event: "COMMENT", body: "x" });
    const own = `${root}/pulls/1/reviews/${submitted.body.id}`;
    expect((await call(`DELETE ${own}`)).status).toBe(422);
    expect((await call(`PUT ${own}`, { body: "y" })).body).toMatchObject({ body: "y", state: "COMMENTED" });
    expect((await call(`PUT ${own}`, { body: " " })).status).toBe(422);
  });
});

describe("GitHub's description", () => {
  it.each([
    [`POST ${root}/pulls/1/reviews`, { event: "PRAISE", body: "x" }],
    [`POST ${root}/pulls/1/reviews`, { event: "COMMENT", comments: [{ ...comment, subject_type: "file" }] }],
    [`POST ${root}/pulls/1/comments`, { ...comment }],
    [`POST ${root}/issues/1/comments`, {}],
    [
      `POST ${root}/check-runs`,
      { name: "x", head_sha: "HEAD", output: { title: "x", summary: "x".repeat(65_536) } },
    ],
    [`POST ${root}/issues/comments/1/reactions`, { content: "thumbs" }],
  ])("refuses a body that does not fit: %s, %#", async (endpoint, body) => {
    const answer = await call(endpoint, body);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toMatch(/^Invalid request\./);
    expect(kinds()).toEqual(["description"]);
  });

  it("notes unknown parameters, broken JSON and endpoints nobody described", async () => {
    expect((await call(`GET ${root}/pulls?perPage=100`)).status).toBe(200);
    expect((await call(`POST ${root}/issues/1/comments`, "{")).status).toBe(400);
    expect((await call(`PUT ${root}/pulls/1/merge`, {})).status).toBe(501);
    expect(kinds()).toEqual(["description", "refused", "not-simulated"]);
    expect(scenario.github.violations[0]?.problems).toEqual(['"perPage" is not a permitted key.']);
  });
});

describe("comments", () => {
  it("on a file need no line, and the file must have changed", async () => {
    const commit_id = headOf(scenario.pull);
    const on = (path: string) =>
      call(`POST ${root}/pulls/1/comments`, { path, commit_id, subject_type: "file", body: "x" });
    const made = await on("b.txt");
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ subject_type: "file", line: null, path: "b.txt" });
    expect((await on("c.txt")).status).toBe(422);
  });

  it("are answered in their thread", async () => {
    const first = await scenario.people.reviewComment(scenario.pull, "octocat", {
      path: "a.txt",
      line: 20,
      body: "Why?",
    });
    const reply = await call(`POST ${root}/pulls/1/comments/${first.id}/replies`, { body: "Because." });
    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({ in_reply_to_id: first.id, path: "a.txt", line: 20 });
    const again = await call(`POST ${root}/pulls/1/comments/${reply.body.id}/replies`, { body: "x" });
    expect(again.status).toBe(404);
  });

  it("in the conversation are made, edited in place, listed and deleted", async () => {
    const made = await call(`POST ${root}/issues/1/comments`, { body: "One." });
    expect(made.body).toMatchObject({
      performed_via_github_app: { slug: "hunkwise" },
      user: { login: "hunkwise[bot]" },
    });
    const own = `${root}/issues/comments/${made.body.id}`;
    expect((await call(`PATCH ${own}`, { body: "Two." })).body).toMatchObject({
      id: made.body.id,
      body: "Two.",
    });
    expect((await call(`GET ${root}/issues/1/comments`)).body).toMatchObject([{ body: "Two." }]);
    const long = await call(`PATCH ${own}`, { body: "x".repeat(65_537) });
    expect(long.body.errors).toMatchObject([
      { code: "unprocessable", message: "Body is too long (maximum is 65536 characters)" },
    ]);
    expect((await call(`DELETE ${own}`)).status).toBe(204);
    expect((await call(`GET ${own}`)).status).toBe(404);
  });

  it("on lines are deleted with the review that they came with alone; of people never", async () => {
    const commit_id = headOf(scenario.pull);
    const onFile = { path: "b.txt", commit_id, subject_type: "file", body: "x" };
    const alone = await call(`POST ${root}/pulls/1/comments`, onFile);
    await call(`POST ${root}/pulls/1/reviews`, { event: "COMMENT", body: "x", comments: [comment] });
    const [, ofReview] = scenario.pull.reviewComments.map(({ id }) => id);
    for (const id of [alone.body.id, ofReview])
      expect((await call(`DELETE ${root}/pulls/comments/${id}`)).status).toBe(204);
    expect([scenario.pull.reviewComments.length, scenario.pull.reviews.map(({ body }) => body)]).toEqual([
      0,
      ["x"],
    ]);

    const place = { path: "a.txt", line: 20, body: "Why?" };
    const theirs = await scenario.people.reviewComment(scenario.pull, "octocat", place);
    expect((await call(`DELETE ${root}/pulls/comments/${theirs.id}`)).status).toBe(403);
  });

  it("of people are reacted to and never edited", async () => {
    const theirs = scenario.people.comment(scenario.pull, "octocat", "/review");
    const own = `${root}/issues/comments/${theirs.id}`;
    expect((await call(`POST ${own}/reactions`, { content: "eyes" })).status).toBe(201);
    expect((await call(`POST ${own}/reactions`, { content: "eyes" })).status).toBe(200);
    expect((await call(`GET ${own}`)).body.reactions).toMatchObject({ eyes: 1, total_count: 1 });
    expect((await call(`PATCH ${own}`, { body: "x" })).status).toBe(403);
  });

  it("follow their line after a push, and are outdated when it changed", async () => {
    const place = { path: "a.txt", line: 22, body: "x" };
    const kept = await scenario.people.reviewComment(scenario.pull, "octocat", place);
    const touched = await scenario.people.reviewComment(scenario.pull, "octocat", { ...place, line: 20 });
    const removed = await scenario.people.reviewComment(scenario.pull, "octocat", {
      ...place,
      line: 20,
      side: "LEFT",
    });
    const text = lines(40).replace("line 20\n", "line twenty!\n").replace("line 19\n", "line 19\nmore\n");
    const head = scenario.people.push(scenario.pull, { "a.txt": text });
    const { body } = await call(`GET ${root}/pulls/1/comments`);
    const by = (id: number) => body.find((one: { id: number }) => one.id === id);
    expect(by(kept.id)).toMatchObject({ line: 23, original_line: 22, commit_id: head });
    expect(by(touched.id)).toMatchObject({ line: null, position: null, original_line: 20 });
    expect(by(removed.id)).toMatchObject({ line: 20, side: "LEFT" });
  });

  it("stay possible on an earlier head, with that head's lines", async () => {
    const before = headOf(scenario.pull);
    scenario.people.forcePush(scenario.pull, { "b.txt": "other\n" });
    const on = (commit_id: string) => call(`POST ${root}/pulls/1/comments`, { ...comment, commit_id });
    expect((await on(before)).status).toBe(201);
    expect((await on(headOf(scenario.pull))).status).toBe(422);
  });
});

describe("a check run", () => {
  const create = (body: object) =>
    call(`POST ${root}/check-runs`, { name: "Hunkwise", head_sha: headOf(scenario.pull), ...body });

  it("is opened, closed and found by its commit", async () => {
    const made = await create({ status: "in_progress", external_id: "e" });
    expect(made.body).toMatchObject({ status: "in_progress", conclusion: null, app: { slug: "hunkwise" } });
    expect(made.body.pull_requests).toMatchObject([{ number: 1 }]);
    const output = { title: "Clean", summary: "Nothing." };
    const closed = await call(`PATCH ${root}/check-runs/${made.body.id}`, { conclusion: "success", output });
    expect(closed.body).toMatchObject({ status: "completed", conclusion: "success", output });
    const found = await call(`GET ${root}/commits/${headOf(scenario.pull)}/check-runs?check_name=Hunkwise`);
    expect(found.body).toMatchObject({ total_count: 1, check_runs: [{ external_id: "e" }] });
  });

  it("refuses an unknown commit, a completion without a conclusion and more than 50 annotations", async () => {
    expect((await create({ head_sha: "1".repeat(40) })).status).toBe(422);
    expect((await create({ status: "completed" })).status).toBe(422);
    const one = { path: "a.txt", start_line: 1, end_line: 1, annotation_level: "notice", message: "x" };
    const annotated = (count: number) =>
      create({ output: { title: "x", summary: "x", annotations: Array(count).fill(one) } });
    expect((await annotated(51)).status).toBe(422);
    expect((await annotated(50)).body.output.annotations_count).toBe(50);
  });
});
