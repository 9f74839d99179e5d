import nock from "nock";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { createGitHubAccess } from "../../src/jobs/github-access.ts";
import { host, useNock } from "../github/support.ts";

useNock();

const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };

/** An installation that grants these permissions, as GitHub mints for it; and what was asked for. */
function installationWith(granted: readonly string[]) {
  const asked: (string[] | "all")[] = [];
  const access = createGitHubAccess({
    apiUrl: host,
    userAgent: "test",
    identity: async () => ({ id: 4711, slug: "hunkwise" }),
    async mintToken(_installation, { permissions }) {
      const names = permissions && Object.keys(permissions);
      asked.push(names ?? "all");
      if (names?.every((name) => granted.includes(name)) ?? true) return "ghs_token";
      throw new AppError("github_invalid", "The permissions requested are not granted to this installation.");
    },
  });
  return { access, asked };
}

async function ask(access: ReturnType<typeof createGitHubAccess>): Promise<void> {
  nock(host).get("/repos/octo/shop/collaborators/octocat/permission").reply(200, { permission: "read" });
  const api = await access.repository(repository, new AbortController().signal);
  expect(await api.permissionOf("octocat")).toBe("read");
}

const publishing = ["contents", "pull_requests", "checks"];
const everything = [...publishing, "issues", "statuses"];

describe("a token for jobs", () => {
  it("reaches what app.yml asks for and no more", async () => {
    const { access, asked } = installationWith([...everything, "actions"]);
    await ask(access);

    expect(asked).toEqual([everything]);
  });

  it("does without what a reviewer can do without, and asks for it no second time", async () => {
    const { access, asked } = installationWith([...publishing, "actions"]);
    await ask(access);
    await ask(access);

    expect(asked).toEqual([everything, publishing, publishing]);
  });

  it("has whatever there is where even less was granted", async () => {
    const { access, asked } = installationWith(["contents"]);
    await ask(access);

    expect(asked).toEqual([everything, publishing, "all"]);
  });
});
