import { expect, it, vi } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createLiveSessions } from "../../src/pages/live-sessions.ts";
import type { SeenRepository } from "../../src/pull/github/user-client.ts";

const shop: SeenRepository = { id: 7, installation: 3, owner: "octo", name: "shop", mayWrite: true };
const octocat = { id: 1, login: "octocat" };
const minute = 60_000;

function open(answer: (token: string) => Promise<SeenRepository[]> = async () => [shop]) {
  let clock = 1_000_000;
  const asked: string[] = [];
  const revoked: string[] = [];
  const live = createLiveSessions({
    client: {
      async repositories(token) {
        asked.push(token);
        return answer(token);
      },
      async revoke(token) {
        revoked.push(token);
        throw new AppError("github_failed", "GitHub is away");
      },
    },
    ...{ operators: new Set([9]), now: () => clock, log: { info() {}, warn() {} } },
  });
  const wait = (ms: number) => {
    clock += ms;
  };
  return { live, asked, revoked, wait };
}

const away = new AppError("github_failed", "GitHub answered GET /user/installations with 502", {
  retryable: true,
});
const limited = new AppError("github_rate_limited", "GitHub answered with 403", { retryable: true });

it("A session has an id of 256 bits that only the browser knows", async () => {
  const { live } = open();
  const ids = [1, 2, 3].map(() => live.start("ghu_1", octocat));
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
  expect(new Set(ids).size).toBe(3);
});

it("A session ends with all others of its person, also while GitHub is being asked, and nobody else's does", async () => {
  const held = Promise.withResolvers<SeenRepository[]>();
  const { live } = open(() => held.promise);
  const hubot = live.start("ghu_2", { id: 2, login: "hubot" });
  const id = live.start("ghu_1", octocat);
  const looking = live.viewer(id);
  live.endAllOf(octocat.id);
  held.resolve([shop]);
  expect(await looking).toBeNull();
  expect(await live.viewer(id)).toBeNull();
  expect(await live.viewer(hubot)).not.toBeNull();
});

it("A session ends after eight hours", async () => {
  const { live, wait } = open();
  const id = live.start("ghu_1", octocat);
  wait(8 * 60 * minute - 1);
  expect(await live.viewer(id)).not.toBeNull();
  wait(1);
  expect(await live.viewer(id)).toBeNull();
});

it("A session ends although its token cannot be revoked", async () => {
  const { live, revoked } = open();
  const id = live.start("ghu_1", octocat);
  live.end(id);
  live.end(id);
  expect(revoked).toEqual(["ghu_1"]);
  expect(await live.viewer(id)).toBeNull();
});

it.each(["github_unauthorized", "github_forbidden", "github_not_found"] as const)(
  "A session ends when GitHub answers %s",
  async (code) => {
    let error: AppError | null = null;
    const { live, asked, wait } = open(async () => {
      if (error) throw error;
      return [shop];
    });
    const id = live.start("ghu_1", octocat);
    expect(await live.viewer(id)).toMatchObject({ login: "octocat", repositories: [shop] });
    error = new AppError(code, "no");
    wait(2 * minute);
    expect(await live.viewer(id)).toBeNull();
    await live.viewer(id);
    expect(asked).toHaveLength(2);
  },
);

it("A session is the oldest to end when a person begins an eleventh", async () => {
  const { live } = open();
  const ids = Array.from({ length: 11 }, () => live.start("ghu_1", octocat));
  const hubot = live.start("ghu_2", { id: 2, login: "hubot" });
  const alive = await Promise.all([...ids, hubot].map(async (id) => (await live.viewer(id)) !== null));
  expect(alive).toEqual([false, ...Array(11).fill(true)]);
});

it("A session that was used last is kept when there are two thousand others", async () => {
  const { live } = open();
  const used = live.start("ghu_1", octocat);
  const unused = live.start("ghu_1", octocat);
  for (let n = 2; n < 2_000; n++) live.start("ghu_2", { id: 100 + n, login: "stranger" });
  await live.viewer(used);
  live.start("ghu_2", { id: 50, login: "stranger" });
  expect(await live.viewer(used)).not.toBeNull();
  expect(await live.viewer(unused)).toBeNull();
});

it("What GitHub lets a person see counts from the moment at which it was asked", async () => {
  const pages = [Promise.withResolvers<SeenRepository[]>(), Promise.withResolvers<SeenRepository[]>()];
  let n = 0;
  const { live, asked, wait } = open(() => pages[n++]?.promise ?? Promise.resolve([]));
  const id = live.start("ghu_1", octocat);
  const first = live.viewer(id);
  wait(minute);
  pages[0]?.resolve([shop]);
  expect((await first)?.repositories).toEqual([shop]);
  wait(minute);
  const second = live.viewer(id);
  pages[1]?.resolve([]);
  expect((await second)?.repositories).toEqual([]);
  expect(asked).toHaveLength(2);
});

it.each([
  ["without an answer", away],
  ["at its limit", limited],
])(
  "What GitHub lets a person see counts for five minutes while GitHub is %s, which is asked every fifteen seconds",
  async (_, error) => {
    let isAway = false;
    const { live, asked, wait } = open(async () => {
      if (isAway) throw error;
      return [shop];
    });
    const id = live.start("ghu_1", octocat);
    await live.viewer(id);
    isAway = true;
    wait(2 * minute);
    for (let n = 0; n < 5; n++) expect((await live.viewer(id))?.repositories).toEqual([shop]);
    expect(asked).toHaveLength(2);
    wait(3 * minute);
    await expect(live.viewer(id)).rejects.toBe(error);
    await expect(live.viewer(id)).rejects.toBe(error);
    expect(asked).toHaveLength(3);
    isAway = false;
    wait(15_000);
    expect((await live.viewer(id))?.repositories).toEqual([shop]);
  },
);

it("What GitHub lets a person see is shown again after three seconds while GitHub takes longer, and not once it is five minutes old", async () => {
  vi.useFakeTimers();
  try {
    const held = Promise.withResolvers<SeenRepository[]>();
    let isSlow = false;
    const { live, asked, wait } = open(async () => (isSlow ? held.promise : [shop]));
    const id = live.start("ghu_1", octocat);
    await live.viewer(id);
    isSlow = true;
    wait(2 * minute);
    const meanwhile = live.viewer(id);
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await meanwhile)?.repositories).toEqual([shop]);
    wait(3 * minute);
    let isShown = false;
    const late = live.viewer(id).then((viewer) => {
      isShown = true;
      return viewer;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isShown).toBe(false);
    isSlow = false;
    held.reject(new AppError("github_unauthorized", "Bad credentials"));
    expect(await late).toBeNull();
    expect(asked).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

it("What GitHub lets a person see is not guessed if GitHub has not answered yet", async () => {
  const { live } = open(() => Promise.reject(away));
  const id = live.start("ghu_1", octocat);
  await expect(live.viewer(id)).rejects.toBe(away);
});

it("What GitHub lets a person see is kept apart for each session, with its own token", async () => {
  const { live } = open(async (token) => (token === "ghu_1" ? [shop] : []));
  const [one, other] = [live.start("ghu_1", octocat), live.start("ghu_9", { id: 9, login: "op" })];
  expect(await live.viewer(one)).toMatchObject({ isOperator: false, repositories: [shop] });
  expect(await live.viewer(other)).toMatchObject({ isOperator: true, repositories: [] });
});
