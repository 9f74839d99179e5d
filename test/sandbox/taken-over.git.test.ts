import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runInSandbox } from "../../src/sandbox/run-in-sandbox.ts";
import { encodeFrame } from "../../src/sandbox/warden/frames.ts";
import { TempFolder } from "../support/git-repo.ts";
import { noSignal, smallLimits } from "./sandbox.ts";

// Whoever breaks out of the second wall speaks for the warden. This one says what it wants to.

const folder = new TempFolder("taken-over");
chmodSync(folder.path, 0o755);
afterAll(() => folder.dispose());

const end = {
  ...{ kind: "end", exitCode: 0, ended: null, truncated: false, odd: 0, tooMany: false },
  left: [{ path: "a", kind: "changed", bytes: 1 }],
};

/** What comes of a command whose warden says these frames, and then waits. */
function hear(...frames: Buffer[]) {
  const bwrap = join(folder.path, "bwrap");
  const said = Buffer.concat(frames).toString("base64");
  const speak = `process.stdout.write(Buffer.from("${said}", "base64")); process.stdin.on("end", () => process.exit()).resume();`;
  writeFileSync(bwrap, `#!${process.execPath}\n${speak}\n`, { mode: 0o755 });
  const sandbox = { bwrap, node: process.execPath, readable: [], system: [], hiding: [] };
  const run = { command: "true", folder: "", env: {}, files: [], limits: smallLimits, longest: 10 };
  return runInSandbox(sandbox, { ...run, timeoutMs: 10_000, wants: () => ["a"] }, noSignal);
}

/** A frame that says it has so many bytes, which never come. */
const promise = (header: object, bytes: number) => {
  const frame = encodeFrame(header);
  frame.writeUInt32BE(bytes, 4);
  return frame;
};

describe("a warden that was taken over", () => {
  it("is heard where it says what a warden says", async () => {
    const file = encodeFrame({ kind: "file", path: "a", executable: false }, Buffer.from("x"));
    const outcome = await hear(
      encodeFrame({ kind: "stdout" }),
      encodeFrame(end),
      file,
      encodeFrame({ kind: "taken" }),
    );
    expect(outcome.taken).toEqual([{ path: "a", executable: false, bytes: Buffer.from("x") }]);
  });

  it.each([
    ["what is no answer", [encodeFrame({ kind: "env" })], "sent an answer that cannot be read"],
    [
      "an exit code that there is none of",
      [encodeFrame({ ...end, exitCode: 1e9 })],
      "sent an answer that cannot be read",
    ],
    [
      "more output than was asked for",
      [promise({ kind: "stdout" }, 1_000_000)],
      "sent an answer that cannot be read",
    ],
    [
      "a header without end",
      [promise({ kind: "stdout" }, 0).fill(0xff, 0, 4)],
      "sent an answer that cannot be read",
    ],
    ["a file before the end", [encodeFrame({ kind: "taken" })], "says 'taken' before the command has ended"],
    [
      "a file that nobody asked for",
      [encodeFrame(end), encodeFrame({ kind: "file", path: "../b", executable: true })],
      "hands out what it was not asked for",
    ],
    [
      "a file twice",
      [end, ...Array(2).fill({ kind: "file", path: "a", executable: true })].map((one) => encodeFrame(one)),
      "hands out what it was not asked for",
    ],
    [
      "a longer file than there may be",
      [encodeFrame(end), encodeFrame({ kind: "file", path: "a", executable: true }, Buffer.alloc(11))],
      "hands out what it was not asked for",
    ],
  ])("is not believed that says %s", async (_, frames, reason) => {
    await expect(hear(...frames)).rejects.toMatchObject({
      code: "child_died",
      message: expect.stringContaining(reason),
    });
  });
});
