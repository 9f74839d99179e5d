import { afterEach, beforeEach, expect, it } from "vitest";
import type { Stores } from "../../src/queue/stores.ts";
import type { StoresUnderTest } from "./stores.ts";

/** Sessions end for every process at once, by log-out, by expiry, and all of a person's together. */
export function describeSessions(create: () => StoresUnderTest): void {
  let underTest: StoresUnderTest;
  let stores: Stores;
  let other: Stores;
  let time = 0;
  const octocat = { account: 3_000_000_001, login: "octocat", expiresAt: 1_000 };

  beforeEach(async () => {
    time = 0;
    underTest = create();
    stores = await underTest.open({ now: () => time });
    other = await underTest.open({ now: () => time });
  });
  afterEach(async () => {
    await Promise.all([stores.close(), other.close()]);
    await underTest.remove();
  });

  it("are found by their hash, by every process", async () => {
    expect(await stores.sessions.find("aa")).toBeNull();
    await stores.sessions.add("aa", octocat);
    expect(await other.sessions.find("aa")).toEqual(octocat);
    expect(await other.sessions.find("AA")).toBeNull();
  });

  it("end alone, also where there is none", async () => {
    await stores.sessions.add("aa", octocat);
    await stores.sessions.add("bb", octocat);
    await other.sessions.end("aa");
    await other.sessions.end("aa");
    expect(await stores.sessions.find("aa")).toBeNull();
    expect(await stores.sessions.find("bb")).toEqual(octocat);
  });

  it("of one person end together, and nobody else's", async () => {
    const hubot = { ...octocat, account: 7, login: "hubot" };
    await stores.sessions.add("aa", octocat);
    await stores.sessions.add("bb", octocat);
    await stores.sessions.add("cc", hubot);
    await other.sessions.endAllOf(octocat.account);
    const found = await Promise.all(["aa", "bb", "cc"].map((hash) => stores.sessions.find(hash)));
    expect(found).toEqual([null, null, hubot]);
  });

  it("are not found from the moment at which they expire, and are purged after it", async () => {
    await stores.sessions.add("aa", octocat);
    await stores.sessions.add("bb", { ...octocat, expiresAt: 2_000 });
    time = 999;
    expect(await stores.sessions.find("aa")).toEqual(octocat);
    expect(await stores.queue.purge(0, 400 * 86_400_000)).toBe(0);
    time = 1_000;
    expect(await stores.sessions.find("aa")).toBeNull();
    expect(await stores.queue.purge(1_000_000, 400 * 86_400_000)).toBe(1);
    expect(await other.sessions.find("bb")).not.toBeNull();
  });
}
