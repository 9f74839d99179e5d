import nock from "nock";
import { describe, expect, it } from "vitest";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import { failure } from "../../support/failure.ts";
import { apiFor, app, bot, host, useNock } from "./support.ts";

useNock();

const root = "/repos/octo/shop";
const pullPath = `${root}/pulls/7`;
const head = "b".repeat(40);
const github = () => nock(host);

const pull = {
  number: 7,
  title: "Add a total",
  body: null,
  user: { login: "octocat", type: "User" },
  state: "open",
  draft: false,
  labels: [{ name: "bug" }],
  head: { sha: head },
  base: { sha: "a".repeat(40), ref: "main" },
};

describe("The pull request", () => {
  it("The pull request is parsed into our own shape", async () => {
    github().get(pullPath).reply(200, pull);
    expect(await apiFor().api.pull()).toEqual({
      number: 7,
      title: "Add a total",
      body: "",
      author: "octocat",
      state: "open",
      closed: null,
      draft: false,
      labels: ["bug"],
      headSha: head,
      baseSha: "a".repeat(40),
      baseRef: "main",
      source: null,
    });
  });

  it("The pull request of a deleted author is by ghost", async () => {
    github()
      .get(pullPath)
      .reply(200, { ...pull, user: null });
    expect((await apiFor().api.pull()).author).toBe("ghost");
  });

  it("A pull request of another shape is an error", async () => {
    github().get(pullPath).reply(200, { hello: "proxy" });
    expect(await failure(apiFor().api.pull())).toMatchObject({ code: "github_failed", retryable: true });
  });
});

describe("The permission of a person", () => {
  const path = `${root}/collaborators/octocat/permission`;

  it.each([
    ["write", { id: 5 }],
    ["none", { id: 6 }],
    ["none", null],
    ["none", "octocat"],
    ["none", undefined],
  ])("An account has the permission %s if GitHub names %j", async (permission, user) => {
    github().get(path).reply(200, { permission: "write", user });
    expect(await apiFor().api.permissionOf("octocat", 5)).toBe(permission);
  });

  it.each(["admin", "write", "read", "none"])("The permission of %s is read", async (permission) => {
    github().get(path).reply(200, { permission, role_name: "maintain" });
    expect(await apiFor().api.permissionOf("octocat")).toBe(permission);
  });

  it.each([
    ["nobody knows the person", 404, { message: "Not Found" }],
    ["GitHub refuses to say", 403, { message: "Forbidden" }],
    ["GitHub says a word we do not know", 200, { permission: "owner" }],
  ])("The permission is none if %s", async (_name, status, body) => {
    github().get(path).reply(status, body);
    expect(await apiFor().api.permissionOf("octocat")).toBe("none");
  });

  it("An outage of GitHub rejects the question for a permission", async () => {
    github().get(path).times(4).reply(500);
    expect(await failure(apiFor().api.permissionOf("octocat"))).toMatchObject({
      code: "github_failed",
      retryable: true,
    });
  });

  it("A rate limit rejects the question for a permission", async () => {
    github().get(path).reply(403, { message: "secondary rate limit" }, { "retry-after": "900" });
    expect(await failure(apiFor().api.permissionOf("octocat"))).toMatchObject({
      code: "github_rate_limited",
    });
  });
});

describe("The people who pushed to a branch", () => {
  const path = `${root}/activity?ref=refs%2Fheads%2Frenovate%2Fzod&direction=desc&per_page=100`;
  const ref = "refs/heads/renovate/zod";
  /** As GitHub lists them, newest first: "push by octocat to c". */
  const listed = (...said: string[]) =>
    said.map((one) => {
      const [, activity_type = "", login = "", after = ""] = /^(\w+) by (\S+) to (\w+)$/.exec(one) ?? [];
      return { id: 1, before: "0", after, ref, activity_type, actor: login === "nobody" ? null : { login } };
    });

  it.each<[what: string, said: string[], pushers: string[] | null]>([
    ["are those since its creation", ["push by mona to h", "branch_creation by bot to a"], ["mona", "bot"]],
    ["are named once", ["force_push by bot to h", "branch_creation by bot to a"], ["bot"]],
    [
      "are those up to the head that is asked about",
      ["push by eve to later", "push by bot to h", "branch_creation by bot to a"],
      ["bot"],
    ],
    [
      "are those since its newest creation",
      ["branch_creation by bot to h", "branch_deletion by eve to 0", "push by eve to b"],
      ["bot"],
    ],
    [
      "are those since the newest push of that head",
      ["push by eve to h", "push by eve to b", "push by bot to h", "branch_creation by bot to a"],
      ["eve", "bot"],
    ],
    ["are not known if its creation is not listed", ["push by bot to h"], null],
    ["are not known if the head is not listed", ["branch_creation by bot to a"], null],
    ["are not known if nothing is listed", [], null],
    ["are not known if an account is gone", ["push by nobody to h", "branch_creation by bot to a"], null],
    ["are not known if a merge brought more", ["pr_merge by bot to h", "branch_creation by bot to a"], null],
    ["are not known if GitHub names a new kind", ["sync by bot to h", "branch_creation by bot to a"], null],
  ])("The pushers of a branch: %s", async (_, said, pushers) => {
    github()
      .get(path)
      .reply(200, listed(...said));
    expect(await apiFor().api.pushers("renovate/zod", "h")).toEqual(pushers);
  });

  it("The pushers are unknown if the list is of another branch", async () => {
    const other = listed("branch_creation by bot to h").map((one) => ({ ...one, ref: "refs/heads/main" }));
    github().get(path).reply(200, other);
    expect(await apiFor().api.pushers("renovate/zod", "h")).toBeNull();
  });

  it.each([404, 403])("The pushers are unknown if GitHub answers %i", async (status) => {
    github().get(path).reply(status, { message: "No" });
    expect(await apiFor().api.pushers("renovate/zod", "h")).toBeNull();
  });

  it("An outage of GitHub rejects the question for pushers", async () => {
    github().get(path).times(4).reply(500);
    expect(await failure(apiFor().api.pushers("renovate/zod", "h"))).toMatchObject({ retryable: true });
  });
});

describe("A file of the repository", () => {
  const content = (text: string) => ({
    type: "file",
    encoding: "base64",
    size: Buffer.byteLength(text),
    content: Buffer.from(text).toString("base64").replace(/.{60}/g, "$&\n"),
  });

  it("A file is decoded, whatever its path is", async () => {
    const text = "größe: 1\n".repeat(40);
    github().get(`${root}/contents/.github/a%20b%23%3F%25.yml?ref=main`).reply(200, content(text));
    expect(await apiFor().api.fileAt(".github/a b#?%.yml", "main")).toBe(text);
  });

  it("A missing file is undefined, and so is a folder", async () => {
    github().get(`${root}/contents/none?ref=main`).reply(404, { message: "Not Found" });
    github()
      .get(`${root}/contents/dir?ref=main`)
      .reply(200, [{ type: "file" }]);
    const { api } = apiFor();
    expect(await api.fileAt("none", "main")).toBeUndefined();
    expect(await api.fileAt("dir", "main")).toBeUndefined();
  });

  it.each(["symlink", "submodule"])("A %s without a file is an error", async (type) => {
    github().get(`${root}/contents/link?ref=main`).reply(200, { type, size: 7, target: "/nowhere" });
    expect(await failure(apiFor().api.fileAt("link", "main"))).toMatchObject({ code: "github_invalid" });
  });

  it("A file that is too large is an error", async () => {
    github()
      .get(`${root}/contents/big?ref=main`)
      .reply(200, { type: "file", encoding: "none", size: 2_000_000, content: "" });
    expect(await failure(apiFor().api.fileAt("big", "main"))).toMatchObject({ code: "too_large" });
  });

  it.each(["../../user", "a/../b", "./a", "/a", "a//b", ""])(
    "A file at %j is never requested",
    async (path) => {
      expect(await failure(apiFor().api.fileAt(path, "main"))).toMatchObject({ code: "usage" });
    },
  );
});

describe("Our own texts", () => {
  const list = (path: string, items: unknown[]) => github().get(`${path}?per_page=50`).reply(200, items);

  it("Our texts are those of our bot account and of no similar one", async () => {
    list(`${root}/issues/7/comments`, [
      { id: 1, body: "ours", user: bot },
      { id: 2, body: "ours, without a body", user: { login: "Hunkwise[bot]", type: "Bot" } },
      { id: 3, body: "a person's", user: { login: "hunkwise[bot]", type: "User" } },
      { id: 4, body: "another bot's", user: { login: "other[bot]", type: "Bot" } },
      {
        id: 5,
        body: "renamed, but ours",
        user: { login: "old-name[bot]", type: "Bot" },
        performed_via_github_app: { id: app.id },
      },
      {
        id: 6,
        body: "a person through our App",
        user: { login: "eve", type: "User" },
        performed_via_github_app: { id: app.id },
      },
      { id: 7, body: "a ghost's", user: null },
      { id: 8, body: null, user: bot },
      "nonsense",
    ]);
    expect((await apiFor().api.ownComments()).map(({ id }) => id)).toEqual([1, 2, 5, 8]);
  });

  it("A pending review is known from a submitted one", async () => {
    list(`${pullPath}/reviews`, [
      { id: 1, body: "posted", user: bot, state: "COMMENTED" },
      { id: 2, body: "pending", user: bot, state: "PENDING" },
    ]);
    expect(await apiFor().api.ownReviews()).toEqual([
      { id: 1, body: "posted", pending: false },
      { id: 2, body: "pending", pending: true },
    ]);
  });

  it("Our comments on lines have their current place", async () => {
    const url = "https://github.test/octo/shop/pull/7#discussion_r1";
    const createdAt = "2026-01-01T00:00:00Z";
    const ours = { body: "ours", user: bot, path: "src/a.ts", html_url: url, created_at: createdAt };
    github()
      .get(`${pullPath}/comments`)
      .query({ per_page: "50" })
      .reply(200, [
        { ...ours, id: 1, side: "LEFT", line: 3, pull_request_review_id: 8 },
        // GitHub knows no line of a comment whose code has changed.
        { ...ours, id: 2, side: "RIGHT", line: null, subject_type: "line" },
        { ...ours, id: 4, line: null, subject_type: "file", reactions: { total_count: 1 } },
        { ...ours, id: 3, user: { login: "octocat", type: "User" }, line: 3, in_reply_to_id: 2 },
      ]);

    const place = { body: "ours", path: "src/a.ts", url, createdAt };
    expect(await apiFor().api.ownReviewComments()).toEqual([
      { ...place, id: 1, side: "LEFT", line: 3, outdated: false, review: 8, touched: false },
      { ...place, id: 2, side: "RIGHT", line: null, outdated: true, review: null, touched: true },
      { ...place, id: 4, side: "RIGHT", line: null, outdated: false, review: null, touched: true },
    ]);
  });
});

const place = { path: "src/a.ts", side: "RIGHT" as const, line: 9, startLine: null, body: publicText("One") };

describe("Posting on a pull request", () => {
  it("A review is posted with all comments, and ranges have both ends on one side", async () => {
    github()
      .post(`${pullPath}/reviews`, {
        commit_id: head,
        event: "COMMENT",
        body: "Summary",
        comments: [
          { path: "src/a.ts", side: "RIGHT", line: 9, body: "One" },
          { path: "src/a.ts", side: "LEFT", line: 5, start_line: 3, start_side: "LEFT", body: "Two" },
        ],
      })
      .reply(200, { id: 1 });
    const range = { path: "src/a.ts", side: "LEFT" as const, line: 5, startLine: 3, body: publicText("Two") };
    await apiFor().api.createReview(head, publicText("Summary"), [place, range]);
  });

  it("The API posts comments on files, comments, edits, removals and reactions", async () => {
    github()
      .post(`${pullPath}/comments`, { commit_id: head, path: "src/a.ts", body: "File", subject_type: "file" })
      .reply(201, { id: 1 });
    github().post(`${root}/issues/7/comments`, { body: "New" }).reply(201, { id: 2 });
    github().patch(`${root}/issues/comments/2`, { body: "Edited" }).reply(200, { id: 2 });
    github().delete(`${root}/issues/comments/2`).reply(204);
    github().delete(`${root}/pulls/comments/1`).reply(404, { message: "Not Found" });
    github().put(`${pullPath}/reviews/5`, { body: "A double" }).reply(200, { id: 5 });
    github().post(`${root}/issues/comments/9/reactions`, { content: "eyes" }).reply(201, { id: 3 });
    const { api } = apiFor();
    await api.createFileComment(head, "src/a.ts", publicText("File"));
    await api.createComment(publicText("New"));
    await api.updateComment(2, publicText("Edited"));
    await api.deleteComment(2);
    // Somebody was quicker.
    await api.deleteReviewComment(1);
    await api.editReview(5, publicText("A double"));
    await api.react({ id: 9, thread: null }, "eyes");
  });
});

describe("The question whether GitHub accepts a review", () => {
  const reviews = `${pullPath}/reviews`;
  const none = () => github().get(`${reviews}?per_page=50`).reply(200, []);
  const pending = (id: number) =>
    github()
      .get(`${reviews}?per_page=50`)
      .reply(200, [
        { id, body: "", user: bot, state: "PENDING" },
        { id: 99, body: "somebody else's", user: { login: "eve", type: "User" }, state: "PENDING" },
      ]);

  it("The question creates a pending review and deletes it", async () => {
    none();
    github()
      .post(reviews, {
        commit_id: head,
        comments: [{ path: "src/a.ts", side: "RIGHT", line: 9, body: "One" }],
      })
      .reply(200, { id: 5 });
    pending(5);
    github().delete(`${reviews}/5`).reply(200, { id: 5 });
    expect(await apiFor().api.acceptsReview(head, [place])).toBe(true);
  });

  it("A refusal answers the question with no, and leaves nothing behind", async () => {
    none();
    github()
      .post(reviews)
      .reply(422, { message: "Unprocessable Entity", errors: ["Line could not be resolved"] });
    expect(await apiFor().api.acceptsReview(head, [place])).toBe(false);
  });

  it("The question first deletes a review that an interrupted one left", async () => {
    pending(4);
    github().delete(`${reviews}/4`).reply(200, { id: 4 });
    github().post(reviews).reply(422, { message: "Unprocessable Entity" });
    expect(await apiFor().api.acceptsReview(head, [place])).toBe(false);
  });

  it("Another failure than a refusal rejects the question", async () => {
    none();
    github().post(reviews).reply(403, { message: "Resource not accessible by integration" });
    expect(await failure(apiFor().api.acceptsReview(head, [place]))).toMatchObject({
      code: "github_forbidden",
    });
  });
});

describe("A comment in a review thread", () => {
  const path = `${root}/pulls/comments/9`;

  it("A comment in a thread is answered and reacted to there", async () => {
    github().post(`${pullPath}/comments/9/replies`, { body: "Fixed" }).reply(201, { id: 10 });
    github().post(`${path}/reactions`, { content: "eyes" }).reply(201, { id: 11 });
    const { api } = apiFor();
    await api.reply(9, publicText("Fixed"));
    await api.react({ id: 9, thread: 5 }, "eyes");
  });

  it("A comment in a thread is known to be ours or not", async () => {
    const { api } = apiFor();
    github().get(path).reply(200, { id: 9, body: "x", user: bot });
    expect(await api.isOwnReviewComment(9)).toBe(true);
    github()
      .get(path)
      .reply(200, { id: 9, body: "x", user: { login: "hunkwise", type: "User" } });
    expect(await api.isOwnReviewComment(9)).toBe(false);
    github().get(path).reply(404, { message: "Not Found" });
    expect(await api.isOwnReviewComment(9)).toBeUndefined();
  });
});

describe("Annotations of check runs", () => {
  const runs = (check_runs: object[]) =>
    github()
      .get(`${root}/commits/${head}/check-runs`)
      .query({ check_name: "Hunkwise", app_id: app.id, filter: "all", per_page: 100 })
      .reply(200, { total_count: check_runs.length, check_runs });
  const run = (id: number, annotations_count?: number) => ({
    ...{ id, external_id: `key ${id}`, status: "completed", conclusion: "neutral" },
    output: { title: "T", ...(annotations_count === undefined ? {} : { annotations_count }) },
  });

  it("Annotations are sent in GitHub's words", async () => {
    github()
      .patch(`${root}/check-runs/12`, {
        status: "in_progress",
        output: {
          title: "T",
          summary: "S",
          text: "X",
          annotations: [
            {
              ...{ path: "a.ts", start_line: 3, end_line: 5, annotation_level: "warning" },
              ...{ title: "A", message: "M", raw_details: "R" },
            },
          ],
        },
      })
      .reply(200, { id: 12 });
    const annotation = {
      ...{ path: "a.ts", startLine: 3, endLine: 5, level: "warning" as const },
      ...{ title: publicText("A"), message: publicText("M"), details: publicText("R") },
    };
    const text = { title: publicText("T"), summary: publicText("S"), text: publicText("X") };
    await apiFor().api.updateCheckRun(12, { status: "in_progress", ...text, annotations: [annotation] });
  });

  it("Annotations are read of each check run of ours, on all pages", async () => {
    runs([run(1, 0), run(2, 101), run(3)]);
    const path = `${root}/check-runs/2/annotations`;
    const next = `<${host}${path}?per_page=50&page=2>; rel="next"`;
    github()
      .get(`${path}?per_page=50`)
      .reply(200, [{ raw_details: "one" }], { link: next });
    github()
      .get(`${path}?per_page=50&page=2`)
      .reply(200, [{ raw_details: null }]);
    github()
      .get(`${root}/check-runs/3/annotations?per_page=50`)
      .reply(200, [{ raw_details: "three" }]);
    expect(await apiFor().api.ownAnnotations(head)).toEqual([
      { externalId: "key 2", details: "one" },
      { externalId: "key 2", details: "" },
      { externalId: "key 3", details: "three" },
    ]);
  });

  it("Annotations of another shape are an error", async () => {
    runs([run(2, 1)]);
    github().get(`${root}/check-runs/2/annotations?per_page=50`).reply(200, ["x"]);
    expect(await failure(apiFor().api.ownAnnotations(head))).toMatchObject({ code: "github_failed" });
  });
});

describe("Check runs", () => {
  it("A check run is created, updated and concluded", async () => {
    github()
      .post(`${root}/check-runs`, {
        name: "Hunkwise",
        head_sha: head,
        external_id: "key",
        status: "in_progress",
        output: { title: "Reviewing", summary: "…" },
      })
      .reply(201, { id: 12 });
    github()
      .patch(`${root}/check-runs/12`, {
        status: "completed",
        conclusion: "neutral",
        output: { title: "T", summary: "S" },
      })
      .reply(200, { id: 12 });
    const { api } = apiFor();
    const id = await api.createCheckRun(head, "key", {
      status: "in_progress",
      title: publicText("Reviewing"),
      summary: publicText("…"),
    });
    await api.updateCheckRun(id, {
      status: "completed",
      conclusion: "neutral",
      title: publicText("T"),
      summary: publicText("S"),
    });
  });

  it("All our check runs are listed, page by page, oldest first", async () => {
    const asked = { check_name: "Hunkwise", app_id: app.id, filter: "all", per_page: 100 };
    const run = (id: number) => ({ id, external_id: null, status: "queued", conclusion: null, output: null });
    github()
      .get(`${root}/commits/${head}/check-runs`)
      .query(asked)
      .reply(200, { total_count: 101, check_runs: Array.from({ length: 100 }, (_, at) => run(200 - at)) })
      .get(`${root}/commits/${head}/check-runs`)
      .query({ ...asked, page: 2 })
      .reply(200, {
        total_count: 101,
        check_runs: [
          {
            ...{ id: 2, external_id: "key", status: "completed", conclusion: "neutral" },
            output: { title: "T", summary: "S", text: null },
          },
        ],
      });
    const { api } = apiFor();
    const runs = await api.checkRuns(head);
    expect(runs).toHaveLength(101);
    expect(runs.slice(0, 2)).toEqual([
      {
        ...{ id: 2, externalId: "key", completed: true, conclusion: "neutral" },
        ...{ title: "T", summary: "S", text: null },
      },
      {
        ...{ id: 101, externalId: "", completed: false, conclusion: null },
        ...{ title: null, summary: null, text: null },
      },
    ]);
  });
});
