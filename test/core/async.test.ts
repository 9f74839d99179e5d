import { describe, expect, it } from "vitest";
import { unlessAborted, within } from "../../src/core/async.ts";

const never = new Promise<never>(() => {});

describe("unlessAborted", () => {
  it("Work with a signal is awaited as long as the signal does not fire", async () => {
    expect(await unlessAborted(Promise.resolve(1), new AbortController().signal)).toBe(1);
    expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1);
  });

  it("Work with a signal is no longer awaited after the signal, also if that fired before", async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(never, controller.signal);
    controller.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
    await expect(unlessAborted(never, controller.signal)).rejects.toThrow("stop");
  });

  it("Work with a signal rejects with the caller's own error if there is one", async () => {
    const own = () => new Error("own");
    await expect(unlessAborted(never, AbortSignal.abort(), own)).rejects.toThrow("own");
  });
});

describe("within", () => {
  it("Work with a time limit gives its result, its error, or a substitute if it is late", async () => {
    expect(await within(60_000, Promise.resolve(1), () => 2)).toBe(1);
    await expect(within(60_000, Promise.reject(new Error("no")), () => 2)).rejects.toThrow("no");
    expect(await within(1, never, () => 2)).toBe(2);
  });
});
