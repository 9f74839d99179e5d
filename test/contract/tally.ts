import { beforeEach, expect, it } from "vitest";
import type { Stores } from "../../src/server/queue/stores.ts";
import type { QuotaEntry, QuotaLimit } from "../../src/server/queue/usage.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const now = 1_000_000;
const limit: QuotaLimit = { scope: "pull 7#3", most: 2, since: now - 1_000 };
const whole: QuotaLimit = { scope: "installation", most: 3, since: now - 1_000 };
const entry = (name: string, over: Partial<QuotaEntry> = {}): QuotaEntry => ({
  ...{ installation: 1, repository: 7, name, at: now },
  ...over,
});

/** Limits are counted once across all processes, and are never exceeded. */
export function describeTally(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  let other: Stores;

  beforeEach(async () => {
    stores = await data.open({ now: () => now });
    other = await data.open({ now: () => now });
  });

  it("The tally takes entries from any connection up to the limit, and names that limit", async () => {
    expect(await stores.quotas.take(entry("a"), [limit])).toBeNull();
    expect(await other.quotas.take(entry("b"), [limit])).toBeNull();
    expect(await stores.quotas.take(entry("c"), [limit])).toEqual(limit);
  });

  it("An entry counts once and passes again although the limit is reached", async () => {
    for (const name of ["a", "a", "b", "a"])
      expect(await stores.quotas.take(entry(name), [limit])).toBeNull();
    expect(await other.quotas.take(entry("b", { at: now + 5 }), [limit])).toBeNull();
    expect(await stores.quotas.take(entry("c"), [limit])).toEqual(limit);
  });

  it("An entry counts below all its limits or below none", async () => {
    for (const name of ["a", "b"]) await stores.quotas.take(entry(name), [limit, whole]);
    for (let n = 0; n < 5; n++) expect(await stores.quotas.take(entry("c"), [whole, limit])).toEqual(limit);
    const elsewhere = { ...limit, scope: "pull 7#4" };
    expect(await stores.quotas.take(entry("d"), [elsewhere, whole])).toBeNull();
    expect(await stores.quotas.take(entry("e"), [elsewhere, whole])).toEqual(whole);
    expect(await stores.quotas.take(entry("f"), [elsewhere])).toBeNull();
  });

  it("The tally separates installations and scopes", async () => {
    const one = { ...limit, most: 1 };
    await stores.quotas.take(entry("a"), [one]);
    expect(await stores.quotas.take(entry("b", { installation: 2 }), [one])).toBeNull();
    expect(await stores.quotas.take(entry("b"), [{ ...one, scope: "pull 7#4" }])).toBeNull();
    expect(await stores.quotas.take(entry("b"), [one])).toEqual(one);
  });

  it("The tally ignores entries before the start of the limit", async () => {
    await stores.quotas.take(entry("a", { at: now - 1_001 }), [limit]);
    await stores.quotas.take(entry("b", { at: now - 1_000 }), [limit]);
    expect(await stores.quotas.take(entry("c"), [limit])).toBeNull();
    expect(await stores.quotas.take(entry("d"), [limit])).toEqual(limit);
    expect(await stores.quotas.take(entry("d"), [{ ...limit, since: now }])).toBeNull();
  });

  it("Parallel requests do not exceed the limit", async () => {
    const asked = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? stores : other).quotas.take(entry(`${n}`), [limit, whole]),
    );
    expect((await Promise.all(asked)).filter((reached) => reached === null)).toHaveLength(2);
  });

  it("An entry is purged with age, and deleted with its repository or installation", async () => {
    const full = { ...limit, most: 1, since: 0 };
    const room = (over: Partial<QuotaEntry> = {}) => other.quotas.take(entry("again", over), [full]);
    await stores.quotas.take(entry("old", { at: 1 }), [full]);
    expect(await room()).toEqual(full);
    expect(await stores.queue.purge(now - 2, 400 * 86_400_000)).toBe(1);
    expect(await room()).toBeNull();
    await stores.queue.forget(1, [8]);
    expect(await stores.quotas.take(entry("x"), [full])).toEqual(full);
    await stores.queue.forget(1, [7]);
    expect(await stores.quotas.take(entry("x"), [full])).toBeNull();
    await stores.queue.forget(2, null);
    expect(await stores.quotas.take(entry("y"), [full])).toEqual(full);
    await stores.queue.forget(1, null);
    expect(await stores.quotas.take(entry("y"), [full])).toBeNull();
  });
}
