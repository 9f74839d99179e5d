import nock from "nock";
import { expect, it } from "vitest";
import { createGitHubAccess } from "../../../src/server/jobs/github-access.ts";
import { host, useNock } from "../../pull/github/support.ts";

useNock();

const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };

it("A token for jobs is for one repository, with the permissions of app.yml", async () => {
  const scopes: object[] = [];
  const { openJob } = createGitHubAccess({
    ...{ apiUrl: host, userAgent: "test", identity: async () => ({ id: 4711, slug: "hunkwise" }) },
    mintToken: async (_installation, scope) => `ghs_${scopes.push(scope)}`,
    granted: async () => ({}),
  });
  nock(host).get("/repos/octo/shop/collaborators/octocat/permission").reply(200, { permission: "read" });
  const api = await openJob().repository(repository, new AbortController().signal);

  expect(await api.permissionOf("octocat")).toBe("read");

  const permissions = {
    ...{ contents: "read", pull_requests: "write", checks: "write" },
    ...{ issues: "read", statuses: "read" },
  };
  expect(scopes).toEqual([{ repositoryIds: [7], permissions, renew: false }]);
});

it("A job reaches nothing beyond its own repository and pull request", async () => {
  const { openJob } = createGitHubAccess({
    ...{ apiUrl: host, userAgent: "test", identity: async () => ({ id: 4711, slug: "hunkwise" }) },
    ...{ mintToken: async () => "ghs_token", granted: async () => ({}) },
  });
  const api = await openJob().pull(repository, 7, new AbortController().signal);
  // An id that GitHub has not shown to be ours: another pull request's comment, or a person's.
  await expect(api.deleteComment(5)).rejects.toMatchObject({ code: "not_allowed" });
  await expect(api.resolveThread("PRRT_5")).rejects.toMatchObject({ code: "not_allowed" });
});
