import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWaitLine } from "../../src/cli/wait-line.ts";

/** A stream that remembers, as a terminal or as a pipe. */
function fakeStream(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, columns: 30, write: (text: string) => written.push(text) > 0 };
  return { written, stream: stream as unknown as NodeJS.WriteStream };
}

describe("the line of a wait", () => {
  beforeEach(
    () =>
      void vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
      }),
  );
  afterEach(() => void vi.useRealTimers());

  it("is not shown if the answer comes at once", () => {
    for (const isTTY of [true, false]) {
      const { stream, written } = fakeStream(isTTY);
      const wait = createWaitLine(stream, 400);
      wait.show("reading", "reading");
      vi.advanceTimersByTime(399);
      wait[Symbol.dispose]();
      vi.advanceTimersByTime(60_000);
      expect(written).toEqual([]);
    }
  });

  it("is one line for each kind of step and every few seconds, where the output is no terminal", () => {
    const { stream, written } = fakeStream(false);
    const wait = createWaitLine(stream, 400);
    wait.show("reading", "reading");
    vi.advanceTimersByTime(1_000);
    for (let done = 0; done < 100; done++) {
      wait.show("indexing", `indexing ${done}/100 files`);
      vi.advanceTimersByTime(100);
    }
    wait[Symbol.dispose]();
    vi.advanceTimersByTime(60_000);
    expect(written).toEqual([
      "0:00 · reading\n",
      expect.stringMatching(/^0:01 · indexing \d\/100 files\n$/),
      expect.stringMatching(/^0:06 · indexing 5\d\/100 files\n$/),
    ]);
  });

  it("is a live line on a terminal, as wide as that, and is removed at the end", () => {
    const { stream, written } = fakeStream(true);
    const wait = createWaitLine(stream, 0);
    wait.show("reading", "reading the repository of someone");
    vi.advanceTimersByTime(0);
    expect(written).toEqual(["\r\u001b[2K0:00 · reading the repositor…"]);
    wait[Symbol.dispose]();
    expect(written.at(-1)).toBe("\r\u001b[2K");
  });
});
