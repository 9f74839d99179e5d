import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { encodeFrame } from "../../../../src/sandbox/supervisor/protocol.ts";
import { TempFolder } from "../../../support/git-repo.ts";
import { environmentsAt, filesIn, prepare, removeEnvironments } from "./environments.ts";

// A command that escapes from the inner sandbox controls the supervisor. This fake sends what it wants.

const folder = environmentsAt();
const fake = new TempFolder("hostile-environment");
chmodSync(fake.path, 0o755);
const outside = join(fake.path, "outside");
mkdirSync(outside);
afterAll(() => {
  fake.dispose();
  removeEnvironments(folder);
});

type Entry = [kind: "file" | "link", path: string, content: string];

/** Prepares with a supervisor that says the command left these, and sends them. */
function hear(entries: readonly Entry[]) {
  const left = entries.flatMap(([kind, path]) => (kind === "file" ? [{ path, kind: "new", bytes: 1 }] : []));
  const odd = entries.flatMap(([kind, path]) => (kind === "link" ? [path] : []));
  const end = { kind: "end", exitCode: 0, ended: null, truncated: false, left, odd, tooMany: false };
  const frames = [
    ...[{ kind: "stdout" }, { kind: "stderr" }, end].map((message) => encodeFrame(message)),
    ...entries.map(([kind, path, content]) =>
      encodeFrame({ kind, path, ...(kind === "file" && { executable: false }) }, Buffer.from(content)),
    ),
    encodeFrame({ kind: "taken" }),
  ];
  const bwrap = join(fake.path, "bwrap");
  const said = Buffer.concat(frames).toString("base64");
  writeFileSync(bwrap, `#!/bin/sh\nbase64 -d <<'END'\n${said}\nEND\ncat > /dev/null\n`, { mode: 0o755 });
  const sandbox = { bwrap, node: process.execPath, readable: [], system: [], hiding: [] };
  return prepare(sandbox, folder, {}, { command: JSON.stringify(entries) });
}

it("An environment has what a sandbox sends, also names that are no text and links to anywhere", async () => {
  const made = await hear([
    ["link", "to", outside],
    ["file", "d/caf\xe9", "x"],
    ["file", "..a/...", "y"],
    ["link", "d/e/up", "../../../.."],
  ]);
  const { root } = made as { root: string };
  expect(filesIn(root).map((name) => name.replace(/caf.*/, "caf"))).toEqual([
    "..a/...",
    "d/caf",
    "d/e/up",
    "to",
  ]);
});

it.each<[string, Entry[]]>([
  ["a path above it", [["file", "../outside/x", "evil"]]],
  ["a path that goes up in the middle", [["file", "a/../../../outside/x", "evil"]]],
  ["an absolute path", [["file", join(outside, "x"), "evil"]]],
  ["a link above it", [["link", "../outside/x", "/etc/passwd"]]],
  ["an empty name", [["file", "", "evil"]]],
  ["a name with a zero byte", [["file", "a\0b", "evil"]]],
  [
    "a file below a link",
    [
      ["link", "a", outside],
      ["file", "a/x", "evil"],
    ],
  ],
  [
    "a file below a link that comes later",
    [
      ["file", "a/x", "evil"],
      ["link", "a", outside],
    ],
  ],
  [
    "a link below a link",
    [
      ["link", "a", outside],
      ["link", "a/x", "/etc/passwd"],
    ],
  ],
  [
    "a folder below a link",
    [
      ["link", "a", outside],
      ["file", "a/b/c", "evil"],
    ],
  ],
  [
    "a file below a file",
    [
      ["file", "a", "x"],
      ["file", "a/b", "evil"],
    ],
  ],
  [
    "a file and a link of one name",
    [
      ["file", "a", "x"],
      ["link", "a", outside],
    ],
  ],
  [
    "a file twice",
    [
      ["file", "a", "x"],
      ["file", "a", "evil"],
    ],
  ],
  ["a link without a target", [["link", "a", ""]]],
  ["a link to more than a path can be", [["link", "a", "x".repeat(5_000)]]],
])("A sandbox that sends %s makes no environment, and writes nowhere else", async (_, entries) => {
  const before = readdirSync(folder);
  expect(await hear(entries)).toEqual({
    why: expect.stringMatching(/^the environment cannot be prepared: /),
  });
  expect(readdirSync(outside)).toEqual([]);
  expect(existsSync(join(folder, "../outside"))).toBe(false);
  expect(readdirSync(folder)).toEqual(before);
});
