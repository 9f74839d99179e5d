import type { Guard } from "../guard.ts";

/** Ways around the walls and limits of `sandbox.ts` that were open once. */

const row = "fix-sandbox";
const walls = "src/sandbox/walls.ts";
const tests = (name: string) => `test/sandbox/${name}.test.ts`;

export const guards: readonly Guard[] = [
  {
    ...{ guard: "no variable of a command reaches what sets its limits", row, file: walls },
    from: '...["/bin/sh", "-c", command],',
    to: '...limited(limits), ...["/bin/sh", "-c", command],',
    ...{
      test: tests("resources"),
      title: "whatever its environment has programs load: those that set the limits do not hear of it",
    },
  },
  {
    ...{ guard: "a command has no descriptor of the server's", row, file: "src/sandbox/warden/main.ts" },
    from: "closeInherited();",
    to: "void closeInherited;",
    ...{ test: tests("secrets"), title: "not what whoever started the server left open" },
  },
  {
    ...{ guard: "what the server hides has no other name", row, file: "src/sandbox/system-folders.ts" },
    from: "const real = realpathSync(path);",
    to: "const real = path;",
    ...{ test: tests("secrets"), title: "not what the server hides under another name of its folder" },
  },
  {
    ...{ guard: "tables of pages count as memory", row, file: "src/sandbox/warden/processes.ts" },
    from: "Vm(?:RSS|PTE)",
    to: "Vm(?:RSS)",
    ...{
      test: tests("resources"),
      title: "of memory that the kernel keeps for them: tables of pages that hold nothing",
    },
  },
  {
    ...{ guard: "what waits in sockets counts as memory", row, file: "src/sandbox/warden/processes.ts" },
    from: "socketsOf(pids) * SOCKET",
    to: "socketsOf(pids) * 0 * SOCKET",
    ...{
      test: tests("resources"),
      title: "of memory that the kernel keeps for them: messages that nobody takes",
    },
  },
  {
    ...{
      guard: "names that are too long together are not told",
      row,
      file: "src/sandbox/warden/left-files.ts",
    },
    from: "const MAX_TOLD_BYTES = 24",
    to: "const MAX_TOLD_BYTES = 240",
    ...{ test: tests("left-behind"), title: "names that are too long together are not told" },
  },
  {
    ...{ guard: "a warden that was taken over hands out what was asked for alone", row },
    file: "src/sandbox/run-in-sandbox.ts",
    from: "!asked.delete(answer.path)",
    to: "!answer.path",
    ...{ test: tests("taken-over"), title: "is not believed that says a file that nobody asked for" },
  },
  {
    ...{ guard: "a warden that was taken over says no more than anybody holds", row },
    file: "src/sandbox/room.ts",
    from: "Math.max(longest + 1, 2 * keptBytes + OF_A_GAP)",
    to: "Math.max(longest + 1, 2 * keptBytes + OF_A_GAP) * 100",
    ...{ test: tests("taken-over"), title: "is not believed that says more output than was asked for" },
  },
  {
    ...{ guard: "a command makes nothing that can be executed", row, file: "src/sandbox/take-over.ts" },
    from: "await edit.write(key, file.bytes);",
    to: 'await edit.write(key, file.bytes, { mode: file.executable ? "100755" : "100644" });',
    ...{
      test: tests("command-port"),
      title: "keeps what can be executed as it was, because no fix may change that",
    },
  },
  {
    ...{ guard: "no file is put behind a link", row, file: "src/sandbox/warden/room.ts" },
    from: "if (!realpathSync.native(place",
    to: "if (path === '' && !realpathSync.native(place",
    ...{ test: tests("left-behind"), title: "nothing is put below a link, whatever a repository says" },
  },
  {
    ...{ guard: "small files count by what they take", row, file: "src/sandbox/workspace-files.ts" },
    from: "Math.ceil(bytes.length / PAGE) * PAGE",
    to: "bytes.length",
    ...{
      test: tests("command-port"),
      title: "is not run where its files take more than the sandbox has, however small each is",
    },
  },
  {
    ...{ guard: "rules of what is ignored end somewhere", row, file: "src/sandbox/ignored.ts" },
    from: "if (steps > MAX_STEPS) return false;",
    to: "",
    ...{
      test: tests("ignored"),
      title: "is not told beyond what anybody waits for, however many rules and files there are",
    },
  },
];
