import { beforeEach, describe, expect, it } from "vitest";
import { dayOf, monthOf, type Spender, type Spending } from "../../src/server/queue/usage.ts";
import { paidTurn, payer } from "../support/paid-turn.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const noon = Date.UTC(2026, 10, 22, 12);
const dayMs = 24 * 3_600_000;
const today = "2026-11-22";

/** The contract of every implementation of Spending. */
export function describeSpending(name: string, create: () => StoresUnderTest): void {
  describe(name, () => {
    const data = dataOfTests(create);
    let spending: Spending;
    let other: Spending;
    let time: number;
    const pull: Spender = { installation: 1, repository: 7, pull: 3 };

    beforeEach(async () => {
      time = noon;
      spending = await open();
      other = await open();
    });

    const open = async (): Promise<Spending> => (await data.open({ now: () => time })).spending;

    it("The spending begins at zero", async () => {
      expect(await spending.spentOn(today, pull)).toEqual({ tokens: 0, costUsd: 0 });
      expect(await spending.spentOn(today, { installation: 1 })).toEqual({ tokens: 0, costUsd: 0 });
    });

    it("Charges of all connections are added up", async () => {
      await spending.charge(payer(pull), paidTurn({ tokens: 100, costUsd: 0.25 }), noon);
      await other.charge(payer(pull), paidTurn({ tokens: 20, costUsd: 0.5 }), noon);
      expect(await spending.spentOn(today, pull)).toEqual({ tokens: 120, costUsd: 0.75 });
      expect(await other.spentOn(today, { installation: 1 })).toEqual({ tokens: 120, costUsd: 0.75 });
    });

    it("Spending is separate for pull requests, repositories and installations", async () => {
      await spending.charge(payer(pull), paidTurn({ tokens: 1, costUsd: 0 }), noon);
      await spending.charge(payer({ ...pull, pull: 4 }), paidTurn({ tokens: 10, costUsd: 0 }), noon);
      await spending.charge(payer({ ...pull, repository: 8 }), paidTurn({ tokens: 100, costUsd: 0 }), noon);
      await spending.charge(
        payer({ ...pull, installation: 2 }),
        paidTurn({ tokens: 1_000, costUsd: 0 }),
        noon,
      );
      const tokens = async (scope: Spender | { installation: number }) =>
        (await spending.spentOn(today, scope)).tokens;
      expect(await tokens(pull)).toBe(1);
      expect(await tokens({ installation: 1 })).toBe(111);
      expect(await tokens({ installation: 2 })).toBe(1_000);
      expect(await tokens({ installation: 3 })).toBe(0);
    });

    it("A day of spending begins at midnight in UTC", async () => {
      const midnight = Date.UTC(2026, 10, 22);
      for (const at of [midnight - 1, midnight, midnight + dayMs - 1, midnight + dayMs])
        await spending.charge(payer(pull), paidTurn({ tokens: 1, costUsd: 1 }), at);
      expect(await spending.spentOn(today, pull)).toEqual({ tokens: 2, costUsd: 2 });
      expect(await spending.spentOn(dayOf(midnight - 1), pull)).toEqual({ tokens: 1, costUsd: 1 });
    });

    it("A charge without a price counts only its tokens", async () => {
      await spending.charge(payer(pull), paidTurn({ tokens: 5, costUsd: null }), noon);
      await spending.charge(payer(pull), paidTurn({ tokens: 5, costUsd: 0.5 }), noon);
      expect(await spending.spentOn(today, pull)).toEqual({ tokens: 10, costUsd: 0.5 });
    });

    it("Spending survives a restart", async () => {
      await spending.charge(payer(pull), paidTurn({ tokens: 5, costUsd: 0 }), noon);
      await data.close();
      spending = await open();
      expect((await spending.spentOn(today, pull)).tokens).toBe(5);
    });

    it("Spending is added up by months in UTC", async () => {
      const first = Date.UTC(2026, 10, 1);
      const last = Date.UTC(2026, 11, 1) - 1;
      for (const at of [first - 1, first, noon, last, last + 1])
        await spending.charge(payer(pull), paidTurn({ tokens: 1, costUsd: 0.5 }), at);
      await spending.charge(payer({ ...pull, repository: 99 }), paidTurn({ tokens: 10, costUsd: 1 }), noon);
      await spending.charge(payer({ ...pull, installation: 2 }), paidTurn({ tokens: 100, costUsd: 1 }), noon);
      expect(await spending.spentOn("2026-11", { installation: 1 })).toEqual({ tokens: 13, costUsd: 2.5 });
      expect(await spending.spentOn("2026-11", pull)).toEqual({ tokens: 3, costUsd: 1.5 });
      expect((await spending.spentOn(monthOf(last + 1), pull)).tokens).toBe(1);
    });

    it("A purge deletes old days of spending once their month is over", async () => {
      const first = Date.UTC(2026, 10, 1);
      for (const at of [first - 2 * dayMs, first - dayMs, first, noon])
        await spending.charge(payer(pull), paidTurn({ tokens: 5, costUsd: 0 }), at);
      const { queue } = await data.open({ now: () => time });
      time = first + 1;
      expect(await queue.purge(dayMs, 400 * 86_400_000)).toBe(1);
      expect((await spending.spentOn("2026-10", pull)).tokens).toBe(5);
      time = Date.UTC(2026, 10, 30);
      expect(await queue.purge(dayMs, 400 * 86_400_000)).toBe(1);
      expect((await spending.spentOn("2026-11", pull)).tokens).toBe(10);
      time = Date.UTC(2026, 11, 1);
      expect(await queue.purge(dayMs, 400 * 86_400_000)).toBe(2);
    });
  });
}
