import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runInSandbox } from "../../src/sandbox/run-in-sandbox.ts";
import { encodeFrame } from "../../src/sandbox/supervisor/protocol.ts";
import { TempFolder } from "../support/git-repo.ts";
import { noSignal, smallLimits } from "./sandbox.ts";

// A command that escapes from the inner sandbox controls the supervisor. This fake sends what it wants.

const folder = new TempFolder("taken-over");
chmodSync(folder.path, 0o755);
afterAll(() => folder.dispose());

const end = {
  ...{ kind: "end", exitCode: 0, ended: null, truncated: false, odd: [], tooMany: false },
  left: [{ path: "a", kind: "changed", bytes: 1 }],
};

/** Runs a command with a supervisor that sends these frames and then waits. */
function hear(...frames: Buffer[]) {
  const bwrap = join(folder.path, "bwrap");
  const said = Buffer.concat(frames).toString("base64");
  // A shell, because as root the fake runs as another user, who may not be able to enter the folder with our Node.
  writeFileSync(bwrap, `#!/bin/sh\nbase64 -d <<'END'\n${said}\nEND\ncat > /dev/null\n`, { mode: 0o755 });
  const sandbox = { bwrap, node: process.execPath, readable: [], system: [], hiding: [] };
  const run = { command: "true", folder: "", env: {}, files: [], limits: smallLimits, maxFileBytes: 10 };
  return runInSandbox(sandbox, { ...run, timeoutMs: 10_000, wants: () => ["a"] }, noSignal);
}

/** A frame that says it has so many bytes, which never come. */
const promise = (header: object, bytes: number) => {
  const frame = encodeFrame(header);
  frame.writeUInt32BE(bytes, 4);
  return frame;
};

describe("a supervisor that was taken over", () => {
  it("A supervisor that was taken over is heard if its messages are valid", async () => {
    const file = encodeFrame({ kind: "file", path: "a", executable: false }, Buffer.from("x"));
    const outcome = await hear(
      encodeFrame({ kind: "stdout" }),
      encodeFrame(end),
      file,
      encodeFrame({ kind: "taken" }),
    );
    expect(outcome.taken).toEqual([{ path: "a", executable: false, isLink: false, bytes: Buffer.from("x") }]);
  });

  it.each([
    ["an unknown message", [encodeFrame({ kind: "env" })], "sent an unreadable message"],
    ["an impossible exit code", [encodeFrame({ ...end, exitCode: 1e9 })], "sent an unreadable message"],
    ["more output than the limit", [promise({ kind: "stdout" }, 1_000_000)], "sent an unreadable message"],
    ["a header without end", [promise({ kind: "stdout" }, 0).fill(0xff, 0, 4)], "sent an unreadable message"],
    ["a file before the end", [encodeFrame({ kind: "taken" })], "sent 'taken' before the command ended"],
    [
      "a file that was not requested",
      [encodeFrame(end), encodeFrame({ kind: "file", path: "../b", executable: true })],
      "sent a file that was not requested",
    ],
    [
      "a file twice",
      [end, ...Array(2).fill({ kind: "file", path: "a", executable: true })].map((one) => encodeFrame(one)),
      "sent a file that was not requested",
    ],
    [
      "a link",
      [encodeFrame(end), encodeFrame({ kind: "link", path: "a" }, Buffer.from("/etc"))],
      "sent a file that was not requested",
    ],
    [
      "a file longer than the limit",
      [encodeFrame(end), encodeFrame({ kind: "file", path: "a", executable: true }, Buffer.alloc(11))],
      "sent a file that was not requested",
    ],
  ])("A supervisor that was taken over is not believed if it sends %s", async (_, frames, reason) => {
    await expect(hear(...frames)).rejects.toMatchObject({
      code: "child_died",
      message: expect.stringContaining(reason),
    });
  });
});
