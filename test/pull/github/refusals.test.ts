import { describe, expect, it } from "vitest";
import { toAppError } from "../../../src/pull/github/errors.ts";

const refused = (status: number, data: object, headers: object = {}) =>
  Object.assign(new Error("refused"), { status, response: { status, headers, data } });
const notAccessible = { message: "Resource not accessible by integration" };
const remedyOf = (call: string, accepted?: string, data: object = notAccessible) =>
  toAppError(
    refused(403, data, accepted === undefined ? {} : { "x-accepted-github-permissions": accepted }),
    call,
  ).remedy;

describe("A missing permission", () => {
  it.each([
    ["pull_requests=write", '"Pull requests: Read and write"'],
    ["merge_queues=read", '"Merge queues: Read-only"'],
    ["checks=read", '"Checks: Read and write"'],
    ["issues=write; pull_requests=write", '"Issues: Read and write" or "Pull requests: Read and write"'],
    ["contents=read,merge_queues=write", '"Contents: Read-only" and "Merge queues: Read and write"'],
  ])("The permission %s is named as the settings of an App name it", (header, name) => {
    expect(remedyOf("POST /repos/o/r/x", header)).toBe(`Give Hunkwise the permission ${name}`);
  });

  it("A permission is not guessed if GitHub does not name it", () => {
    for (const header of [undefined, "<script>", `a=${"b".repeat(300)}`])
      expect(remedyOf("GET /repos/o/r", header)).toBe(
        "Check the permissions of the GitHub App or of the token",
      );
    const archived = { message: "Repository was archived so is read-only." };
    expect(remedyOf("POST /repos/o/r/pulls/1/reviews", "pull_requests=write", archived)).toBe(
      "Check the permissions of the GitHub App or of the token",
    );
  });
});

describe("A locked conversation", () => {
  it.each([
    [403, { message: "Unable to create comment because issue is locked." }],
    [422, { message: "Unprocessable Entity", errors: ["lock prevents review"] }],
    [422, { message: "Validation Failed", errors: [{ message: "base lock prevents review" }] }],
  ])("A locked conversation (%i) is forbidden, and no invalid request", (status, data) => {
    expect(toAppError(refused(status, data), "POST /repos/o/r/pulls/1/reviews")).toMatchObject({
      code: "github_forbidden",
      retryable: false,
      remedy: "Unlock the conversation of the pull request",
    });
  });

  it("Other refusals are not taken for a locked conversation", () => {
    const line = { message: "Unprocessable Entity", errors: ["Line could not be resolved"] };
    expect(toAppError(refused(422, line), "POST /x").code).toBe("github_invalid");
  });
});
