import { describe, expect, it } from "vitest";
import type { CommandRequest } from "../../src/agent/tools/tool.ts";
import { createCommandPort, ignoreRules } from "../../src/sandbox/command-port.ts";
import { MemoryFiles } from "./memory-files.ts";
import { noSignal, sandboxFor, smallLimits } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor(
  "that commands run on the files of a fix, which get what was changed",
);

function run(files: MemoryFiles, command: string, over: Partial<CommandRequest> = {}, limits = smallLimits) {
  const port = createCommandPort({
    ...{ sandbox: sandbox!, limits, allowed: {} },
    ...{ workspace: files.workspace, edit: files.edit, isPrivate: files.isPrivate },
  });
  return port.run({ command, folder: ".", timeoutMs: 20_000, env: {}, ...over }, noSignal);
}

describe.skipIf(!sandbox)(`a command on the files of a fix${skipped}`, () => {
  it("A command on the files of a fix finds them in their current state", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n", "src/b.txt": "two\n" });
    files.put("run.sh", "#!/bin/sh\necho ran $1\n", "100755");
    files.put("link", "a.txt", "120000");
    const end = await run(files, "cat ../a.txt b.txt ../link; ../run.sh $X >&2; exit 7", {
      folder: "src",
      env: { X: "it" },
    });
    expect(end).toEqual({
      ...{ stdout: "one\ntwo\none\n", stderr: "ran it\n", exitCode: 7 },
      ...{ ended: null, truncated: false, changed: [], notes: [] },
    });
  });

  it("A command on the files of a fix returns what it changed, created and removed", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n", d: "a file" });
    const end = await run(
      files,
      "echo 1 > a.txt; rm b.txt; touch c.txt; rm d; mkdir d; echo in > d/f; echo '#!' > new; chmod +x new",
    );
    expect(end.changed).toEqual(["a.txt", "b.txt", "d", "d/f", "new"]);
    expect(files.texts()).toEqual({ "a.txt": "1\n", "c.txt": "three\n", "d/f": "in\n", new: "#!\n" });
  });

  it("A command on the files of a fix keeps what can be executed as it was", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n" });
    files.put("run.sh", "exit 0\n", "100755");
    const end = await run(files, "chmod +x a.txt; echo 'exit 1' > run.sh; echo '#!' > new; chmod +x new");
    expect(end.changed).toEqual(["new", "run.sh"]);
    expect(["a.txt", "run.sh", "new"].map((path) => files.modeOf(path))).toEqual([
      "100644",
      "100755",
      "100644",
    ]);
    expect(end.notes.toSorted()).toEqual([
      "Only the content of 'a.txt' was kept, not its executable bit.",
      "Only the content of 'new' was kept, not its executable bit.",
    ]);
  });

  it("A command on the files of a fix leaves out what the repository ignores", async () => {
    const files = new MemoryFiles({
      ".gitignore": "dist/\n*.log\n!keep.log\n",
      "sub/.gitignore": "*.tmp\n!x.log\n",
      "sub/old.tmp": "tracked\n",
    });
    const end = await run(
      files,
      "mkdir dist; echo 1 > dist/a; echo 2 > a.log; echo 3 > keep.log; cd sub; echo 4 > b.tmp; echo 5 > x.log; echo 6 > y.log; " +
        "echo 7 > old.tmp; echo > ../.gitignore",
    );
    expect(end.changed).toEqual([".gitignore", "keep.log", "sub/old.tmp", "sub/x.log"]);
  });

  it("A command on the files of a fix sees nothing that the configuration keeps private", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n", "secret/key": "hush\n" }, (path) =>
      path.startsWith("secret/"),
    );
    const end = await run(files, "ls -R; mkdir -p secret; echo mine > secret/key; echo other > secret/new");
    expect(end.stdout).not.toContain("key");
    expect(end.changed).toEqual([]);
    expect(files.texts()["secret/key"]).toBe("hush\n");
  });

  it("A command on the files of a fix keeps nothing when it is ended before its time", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n" });
    const end = await run(files, "echo half > a.txt; echo said; sleep 600", { timeoutMs: 2_000 });
    expect(end).toMatchObject({ ended: "timeout", exitCode: 137, stdout: "said\n", changed: [] });
    expect(end.notes).toEqual(["None of its changes were kept."]);
    expect(files.texts()).toEqual({ "a.txt": "one\n" });
  });

  it("A command on the files of a fix keeps nothing when it makes more than any fix has", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n" });
    const end = await run(
      files,
      "i=0; while [ $i -lt 600 ]; do echo > f$i; i=$((i+1)); done; echo two > a.txt",
    );
    expect(end.notes).toEqual(["It changed too many files: none of its changes were kept."]);
    expect(files.texts()).toEqual({ "a.txt": "one\n" });
  });

  it("A command on the files of a fix says of each file why it was not kept: links, large ones", async () => {
    const files = new MemoryFiles({ "a.txt": "one\n", "b.txt": "two\n" });
    files.closed.add("b.txt");
    const end = await run(files, "ln -sf /etc/passwd a.txt; echo x > b.txt; truncate -s 5M large; mkfifo p");
    expect(end.changed).toEqual([]);
    expect(end.notes.toSorted()).toEqual([
      "'b.txt' was not kept: b.txt is no part of the fix.",
      "'large' was not kept: it is too large.",
      "2 links, pipes or other entries that are not regular files were not kept.",
    ]);
    expect(files.texts()).toEqual({ "a.txt": "one\n", "b.txt": "two\n" });
  });

  it("A command on the files of a fix limits the number of notes", async () => {
    const files = new MemoryFiles({});
    Object.assign(files.edit, { write: () => Promise.reject(new Error("no")) });
    const end = await run(files, "for n in $(seq 100); do echo > f$n; done");
    expect(end.notes).toHaveLength(21);
    expect(end.notes.at(-1)).toBe("There are 100 notes in total.");
  });

  it("A command on the files of a fix waits for the one before it", async () => {
    const files = new MemoryFiles({ n: "0" });
    const port = createCommandPort({
      ...{ sandbox: sandbox!, limits: smallLimits, allowed: {} },
      ...{ workspace: files.workspace, edit: files.edit, isPrivate: files.isPrivate },
    });
    const request = { command: "echo $(($(cat n) + 1)) > n", folder: ".", timeoutMs: 20_000, env: {} };
    await Promise.all([1, 2, 3].map(() => port.run(request, noSignal)));
    expect(files.texts()).toEqual({ n: "3\n" });
  });

  it("A command on the files of a fix does not run if the files are too large for the sandbox", async () => {
    const files = new MemoryFiles({ large: Buffer.alloc(smallLimits.filesBytes) });
    await expect(run(files, "true")).rejects.toThrow("too many files for the sandbox");
  });

  it("A command on the files of a fix does not run if the files are too many for the sandbox", async () => {
    const files = new MemoryFiles(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`f${n}`, "x"])));
    const limits = { ...smallLimits, filesBytes: 300 * 4_096 };
    await expect(run(files, "true", {}, limits)).rejects.toThrow("too many files for the sandbox");
  });

  it("A command on the files of a fix is run in a folder of any name that is text", async () => {
    const files = new MemoryFiles({ "grö ße/日/a": "a\n", "caf\\351/b": "b\n" });
    expect((await run(files, "cat a", { folder: "grö ße/日" })).stdout).toBe("a\n");
    await expect(run(files, "cat b", { folder: "caf\\351" })).rejects.toThrow("is not UTF-8");
  });

  it("A command on the files of a fix has names that are no text, byte for byte", async () => {
    const files = new MemoryFiles({ "caf\\351": "latin\n" });
    const end = await run(
      files,
      `for f in caf*; do cat "$f"; echo more >> "$f"; done; printf x > "$(printf 'n\\377')"`,
    );
    expect(end.stdout).toBe("latin\n");
    expect(files.texts()).toEqual({ "caf\\351": "latin\nmore\n", "n\\377": "x" });
  });
});

describe("what a repository ignores", () => {
  it("What a repository ignores follows its rules", async () => {
    const isIgnored = await ignoreRules(
      new MemoryFiles({ ".gitignore": "dist/\n", "a/.gitignore": "*.log\n" }),
    );
    expect(["dist/a", "a/x.log", "x.log", "src/dist.ts"].map(isIgnored)).toEqual([true, true, false, false]);
  });

  it("What a repository ignores is limited in time, however many rules and files there are", async () => {
    const rules = Array.from({ length: 4_000 }, (_, n) => `${n}*x`).join("\n");
    const isIgnored = await ignoreRules(new MemoryFiles({ ".gitignore": `new*\n${rules}` }));
    const first = Array.from({ length: 4_000 }, (_, n) => isIgnored(`new${n}`)).indexOf(false);
    expect(first).toBeGreaterThan(2_000);
    expect(first).toBeLessThan(3_000);
  });

  it("What a repository ignores is read only from the start of a very long rule file", async () => {
    const files = new MemoryFiles({ ".gitignore": `first\n${"#\n".repeat(40_000)}last\n` });
    const isIgnored = await ignoreRules(files);
    expect(["first", "last"].map(isIgnored)).toEqual([true, false]);
  });
});
