import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import {
  createLeastTokens,
  createWritingTokens,
  type MintToken,
  type Permissions,
} from "../../../src/server/jobs/github-access.ts";
import { failure } from "../../support/failure.ts";
import { fakeClock } from "../../support/fake-clock.ts";

const hour = 3_600_000;
const wish = { contents: "read", pull_requests: "write", checks: "write" } as const;
const refused = () =>
  new AppError("github_invalid", "The permissions requested are not granted to this installation.");

/** An installation as GitHub mints for it; and what was asked for. */
function installation(granted: Record<string, string>) {
  const asked: Permissions[] = [];
  let looks = 0;
  const clock = fakeClock();
  const grants = { ...granted };
  const mintToken: MintToken = async (_id, { permissions }) => {
    asked.push(permissions);
    const fits = ([name, access]: [string, string]) =>
      name === "metadata" || grants[name] === "write" || grants[name] === access;
    if (!Object.entries(permissions).every(fits)) throw refused();
    return `ghs_${asked.length}`;
  };
  const readGrants = async () => {
    looks++;
    return grants;
  };
  const least = createLeastTokens(wish, { mintToken, granted: readGrants, now: clock.now });
  const mint = () => least(1, { repositoryIds: [7], renew: false });
  return { mint, asked, grants, clock, looks: () => looks };
}

it("The least token is what is wished and no more, however much was granted", async () => {
  const { mint, asked, looks } = installation({ ...wish, contents: "write", administration: "write" });
  await mint();
  expect(asked).toEqual([wish]);
  expect(looks()).toBe(0);
});

it("The least token has what was granted if that is less, and nobody looks again for an hour", async () => {
  const { mint, asked, clock, looks } = installation({
    contents: "write",
    pull_requests: "read",
    secrets: "write",
  });
  const less = { contents: "read", pull_requests: "read" };
  await mint();
  clock.pass(hour - 1);
  await mint();
  expect(asked).toEqual([wish, less, less]);
  expect(looks()).toBe(1);
});

it("The least token has more within an hour after an owner has granted it", async () => {
  const { mint, asked, grants, clock } = installation({ contents: "read" });
  await mint();
  Object.assign(grants, wish);
  clock.pass(hour);
  await mint();
  expect(asked.at(-1)).toEqual(wish);
});

it("The least token has less at once after an owner has taken something back", async () => {
  const { mint, asked, grants } = installation({ contents: "read", checks: "write" });
  await mint();
  delete grants.checks;
  await mint();
  expect(asked.at(-1)).toEqual({ contents: "read" });
});

it("The least token names a permission even if nothing was granted: one without names has all", async () => {
  const { mint, asked } = installation({ secrets: "write" });
  await mint();
  expect(asked.at(-1)).toEqual({ metadata: "read" });
});

it("The least token is refused for another reason, such as a repository that is gone", async () => {
  const mintToken: MintToken = async () => Promise.reject(refused());
  const least = createLeastTokens(wish, { mintToken, granted: async () => wish, now: fakeClock().now });
  const asked = least(1, { repositoryIds: [7], renew: false });
  expect(await failure(asked)).toMatchObject({ code: "github_invalid" });
});

describe("a token that may write to the repository", () => {
  function tokens(end: (token: string) => Promise<void> = async () => {}) {
    const scopes: object[] = [];
    const ended: string[] = [];
    const mintToken: MintToken = async (_id, scope) => `ghs_${scopes.push(scope)}`;
    const endToken = (token: string) => {
      ended.push(token);
      return end(token);
    };
    const writing = createWritingTokens({
      ...{ mintToken, endToken, now: fakeClock().now },
      granted: async () => ({ contents: "write", pull_requests: "write" }),
    });
    return { scopes, ended, writing };
  }

  it("A token that may write to the repository is minted for one job and one repository, when it is first needed", async () => {
    const { writing, scopes } = tokens();
    const [one, other] = [writing.forJob(), writing.forJob()];
    expect(scopes).toEqual([]);
    expect(await one.token(1, 7, false)).toBe("ghs_1");
    expect(await one.token(1, 7, false)).toBe("ghs_1");
    expect(await other.token(1, 7, false)).toBe("ghs_2");
    const permissions = { contents: "write", pull_requests: "write" };
    expect(scopes[0]).toEqual({ repositoryIds: [7], permissions, own: true });
  });

  it("A token that may write to the repository ends with its job, and so does each that was minted anew; those of other jobs stay", async () => {
    const { writing, ended } = tokens();
    const [one, other] = [writing.forJob(), writing.forJob()];
    await one.token(1, 7, false);
    await other.token(1, 7, false);
    await one.token(1, 7, true);
    await one.end();
    expect(ended).toEqual(["ghs_1", "ghs_3"]);
  });

  it("A refused writing token is not asked for again within an hour, unless one repository alone is gone", async () => {
    const clock = fakeClock();
    const asked: (number | undefined)[] = [];
    const grants = { contents: "read", pull_requests: "write" };
    const mintToken: MintToken = async (_id, { repositoryIds }) => {
      asked.push(repositoryIds?.[0]);
      if (grants.contents === "read" || repositoryIds?.[0] === 7) throw refused();
      return "ghs_1";
    };
    const endToken = async () => {};
    const { token } = createWritingTokens({
      mintToken,
      endToken,
      granted: async () => grants,
      now: clock.now,
    }).forJob();
    for (const id of [7, 8])
      expect(await failure(token(1, id, false))).toMatchObject({ code: "github_forbidden" });
    expect(asked).toEqual([7]);

    clock.pass(hour);
    grants.contents = "write";
    expect(await failure(token(1, 7, false))).toMatchObject({ code: "github_invalid" });
    expect(await token(1, 8, false)).toBe("ghs_1");
  });

  it("A token that may write to the repository that GitHub does not take back fails no job", async () => {
    const { writing, ended } = tokens(async () => Promise.reject(new Error("GitHub is away")));
    const one = writing.forJob();
    await one.token(1, 7, false);
    await one.end();
    expect(ended).toEqual(["ghs_1"]);
  });
});
