import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text as allOf } from "node:stream/consumers";
import { Argument, Command } from "@commander-js/extra-typings";
import {
  gitUserEnvironment,
  hookVariables,
  programPath,
  pushOfFramework,
  skipsHooks,
} from "../../config/process-env.ts";
import { AppError } from "../../core/errors.ts";
import { shellWord } from "../../core/text/fence.ts";
import type { HookRepository, HooksPlace } from "../../repo/git/repository.ts";
import { plainLine } from "../../report/terminal-style.ts";
import { type CommandContext, type CommandIo, exitCodes, explained, optionText } from "../command.ts";
import { complaint, write } from "../output.ts";
import type { reviewLocally } from "./review.ts";

const hookNames = ["pre-commit", "pre-push"] as const;
type HookName = (typeof hookNames)[number];

const declare = () =>
  explained(new Command("hook"), {
    text: [
      "install writes two hooks of git: before a commit, the analyzers review what is staged; before a push, the model reviews what is " +
        "pushed. Findings at or above check.threshold of the configuration stop the commit or the push. A model that is missing or " +
        "fails never stops a push, and the output says so.",
      "A hook that exists is kept beside the new one and runs first, with the same input and arguments. uninstall puts it back as it was. " +
        "If another program manages the hooks (core.hooksPath, husky, lefthook, pre-commit), nothing is changed, and the commands to add " +
        "there are printed.",
      "HUNKWISE_SKIP_HOOK=1 skips the reviews once.",
      "Exit code: 0 done; 1 another program manages the hooks, or run found something; 2 usage or failure.",
    ],
    examples: [
      ["review before each commit and each push", "hunkwise hook install"],
      ["only before each push", "hunkwise hook install pre-push"],
      ["put everything back as it was", "hunkwise hook uninstall"],
    ],
  })
    .addArgument(new Argument("<ACTION>", "what to do").choices(["install", "uninstall", "status", "run"]))
    .addArgument(
      new Argument("[HOOK]", "the hook; default: both. run is called by the hooks and needs it").choices(
        hookNames,
      ),
    )
    .option("--repo <DIR>", "any folder in the repository", optionText, ".");

export const hook = (io: CommandContext) =>
  declare().action(async (action, name, { repo }) => {
    if (action === "run") {
      if (name === undefined)
        throw new AppError("usage", "HOOK is missing", { remedy: "Name pre-commit or pre-push." });
      // What `git push --porcelain` prints on stdout is for programs.
      io.exitCode = await run(name, { ...io, stdout: io.stderr });
      return;
    }
    const names = name === undefined ? hookNames : [name];
    const { findHooks } = await import("../../repo/git/repository.ts");
    const place = await findHooks(repo, { ...(await found(io)), env: gitUserEnvironment() });
    const manager = action === "uninstall" ? null : await managerOf(place);
    if (manager !== null && action === "install") {
      await say(
        io,
        `${manager} manages the hooks of this repository, so nothing was changed.`,
        "Add these commands to the hooks there (docs/hooks.md has examples):",
        ...names.map((one) => `  hunkwise hook run ${one}`),
      );
      io.exitCode = exitCodes.found;
      return;
    }
    if (manager !== null) await say(io, `${manager} manages the hooks of this repository.`);
    const does = { install, uninstall, status }[action];
    for (const one of names) await say(io, `${one}: ${await does(join(place.folder, one), one)}`);
  });

async function found({ signal }: CommandIo): Promise<{ gitPath: string; signal: AbortSignal }> {
  const { requireGit } = await import("../../repo/git/run-git.ts");
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  return { gitPath, signal };
}

const say = ({ stdout }: CommandIo, ...lines: string[]) =>
  write(stdout, lines.map((line) => `${plainLine(line)}\n`).join(""));

/* The files */

/** A hook's file as it is. */
type HookFile =
  | { kind: "none" | "foreign"; changed?: never }
  /** Written by this command. `changed`: by hand since then. */
  | { kind: "ours"; text: string; changed: boolean };

const besideName = (path: string) => `${path}.before-hunkwise`;
const firstLines = /^#!\/bin\/sh\n# hunkwise hook ([0-9a-f]{64})\n/;
const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

async function readHook(path: string): Promise<HookFile> {
  if (!(await exists(path))) return { kind: "none" };
  const text = await readFile(path, "utf8").catch(() => "");
  const [head = "", digest] = firstLines.exec(text) ?? [];
  if (digest === undefined) return { kind: "foreign" };
  return { kind: "ours", text, changed: digestOf(text.slice(head.length)) !== digest };
}

const exists = async (path: string) => (await lstat(path).catch(() => null)) !== null;

/**
 * The program is looked for where it was at the installation, then on PATH. Only exit code 1 means a finding, and 130 that a person stopped it.
 */
function scriptOf(name: HookName): string {
  const isPush = name === "pre-push";
  const what = isPush ? "push" : "commit";
  const given = isPush ? "refs | " : "";
  const body = `# Written by 'hunkwise hook install'. 'hunkwise hook uninstall' removes it and puts back the hook that was here before.
# To skip the review once: HUNKWISE_SKIP_HOOK=1 git ${what}
before="$0.before-hunkwise"
${isPush ? `input=$(cat)\nrefs() { [ -z "$input" ] || printf '%s\\n' "$input"; }\n` : ""}if [ -x "$before" ]; then
  ${given}"$before" "$@" || exit
fi
node=${shellWord(process.execPath)}
program=${shellWord(resolve(process.argv[1] ?? ""))}
if [ -x "$node" ] && [ -f "$program" ]; then
  ${given}"$node" "$program" hook run ${name}
elif command -v hunkwise >/dev/null 2>&1; then
  ${given}hunkwise hook run ${name}
else
  echo "hunkwise: the program was not found, so this ${what} was not reviewed. 'hunkwise hook install' writes its new place." >&2
  exit 0
fi
code=$?
case $code in
  0 | 1 | 130) exit $code ;;
esac
echo "hunkwise: the program ended with exit code $code, so this ${what} was not reviewed" >&2
exit 0
`;
  return `#!/bin/sh\n# hunkwise hook ${digestOf(body)}\n${body}`;
}

async function install(path: string, name: HookName): Promise<string> {
  const [file, wanted] = [await readHook(path), scriptOf(name)];
  if (file.kind === "ours") {
    if (file.changed) throw changedByHand(path);
    if (file.text === wanted) return "installed already";
    await replace(path, wanted);
    return "installed again, because the program has moved or changed";
  }
  await mkdir(resolve(path, ".."), { recursive: true });
  if (file.kind === "none") {
    await replace(path, wanted);
    return (await exists(besideName(path))) ? chained(path) : "installed";
  }
  if ((await lstat(path)).isDirectory()) throw new AppError("usage", `${path} is a folder`);
  if (await exists(besideName(path))) {
    throw new AppError("usage", `there is a hook at ${path}, and an older one at ${besideName(path)}`, {
      remedy: "Remove or rename one of them.",
    });
  }
  await rename(path, besideName(path));
  await replace(path, wanted).catch(async (error: unknown) => {
    await rename(besideName(path), path);
    throw error;
  });
  return chained(path);
}

const chained = (path: string) =>
  `installed; the hook that was there is now ${besideName(path)}, and runs first`;

const changedByHand = (path: string) =>
  new AppError("usage", `${path} was written by this command and changed since`, {
    remedy: "Move your lines to a hook of their own, then remove this file.",
  });

/** Whole or not at all: git may run the hook meanwhile. */
async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.hunkwise-${process.pid}`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    await chmod(temporary, 0o755);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function uninstall(path: string): Promise<string> {
  const file = await readHook(path);
  if (file.kind === "foreign") return "not installed; the hook that is there was left as it is";
  if (file.kind === "ours" && file.changed) throw changedByHand(path);
  if (await exists(besideName(path))) {
    await rename(besideName(path), path);
    return "removed; the hook before it is back";
  }
  if (file.kind === "none") return "not installed";
  await rm(path);
  return "removed";
}

async function status(path: string): Promise<string> {
  const file = await readHook(path);
  if (file.kind === "none") return "not installed";
  if (file.kind === "foreign") return `not installed; ${path} is another hook`;
  const after = (await exists(besideName(path))) ? `, after ${besideName(path)}` : "";
  return `installed at ${path}${after}${file.changed ? "; it was changed by hand" : ""}`;
}

/* Programs that manage hooks */

/** What their hooks contain, and their files in the work tree. */
const managers = [
  { name: "pre-commit", script: /^# File generated by pre-commit/m, file: /^\.pre-commit-config\.yaml$/ },
  { name: "lefthook", script: /\blefthook\b/, file: /^\.?lefthook\.(?:yml|yaml|toml|json)$/ },
  { name: "husky", script: /\bhusky\b/i, file: /^\.husky$/ },
];

/** Who else writes this repository's hooks, and would overwrite ours or never run them; null if nobody does. */
async function managerOf({ folder, configured, workTree }: HooksPlace): Promise<string | null> {
  if (configured !== null)
    return /(?:^|[\\/])\.husky(?:[\\/]_)?$/.test(folder) ? "husky" : `core.hooksPath (${configured})`;
  const read = (path: string) => readFile(path, "utf8").catch(() => "");
  const scripts = await Promise.all(hookNames.map((name) => read(join(folder, name))));
  const others = scripts.filter((text) => !firstLines.test(text));
  const files = workTree === null ? [] : await readdir(workTree);
  const manager = managers.find(
    ({ script, file }) => others.some((text) => script.test(text)) || files.some((name) => file.test(name)),
  );
  if (manager) return manager.name;
  // husky takes the hooks over when the packages are installed.
  const packages = workTree === null ? "" : await read(join(workTree, "package.json"));
  return /"husky"\s*:/.test(packages) ? "husky" : null;
}

/* What the hooks run */

/** Reviews for a hook. Only findings give another exit code than 0: whatever else goes wrong is said, and stops nobody. */
async function run(name: HookName, io: CommandIo): Promise<number> {
  const what = name === "pre-commit" ? "commit" : "push";
  const notReviewed = (why: string) =>
    write(io.stderr, `${why}hunkwise: this ${what} goes on, although it was not reviewed, or only in part\n`);
  if (skipsHooks()) {
    await write(io.stderr, `hunkwise: HUNKWISE_SKIP_HOOK is set, so this ${what} is not reviewed\n`);
    return exitCodes.clean;
  }
  try {
    const code = await (name === "pre-commit" ? reviewCommit(io) : reviewPush(io));
    if (code === exitCodes.incomplete) await notReviewed("");
    if (code !== exitCodes.found) return exitCodes.clean;
    await write(
      io.stderr,
      `hunkwise: stopped this ${what}. To skip the review once: HUNKWISE_SKIP_HOOK=1 git ${what}\n`,
    );
    return exitCodes.found;
  } catch (error) {
    if (io.signal.aborted) throw error;
    await notReviewed(complaint(error));
    return exitCodes.clean;
  }
}

/** The work tree's own folder, where git runs its hooks. */
const HERE = ".";

/** Values of `hunkwise review` for a hook: the configuration's threshold, one line for a clean review, and no tests of findings. */
const asHook = { repo: HERE, format: "pretty", brief: true, prove: false } as const;

/** A ref of a push, as git tells its hook: https://git-scm.com/docs/githooks#_pre_push */
interface PushedRef {
  remoteRef: string;
  /** The commit that the remote gets; zeros if the ref is deleted. */
  local: string;
  /** What the remote has; zeros if the ref is new. */
  remote: string;
}

const refLine = /^.* ([0-9a-f]{40}|[0-9a-f]{64}) (\S+) ([0-9a-f]{40}|[0-9a-f]{64})$/;
const isZero = (oid: string) => /^0+$/.test(oid);

async function pushedRefs(): Promise<PushedRef[]> {
  const framework = pushOfFramework();
  if (framework !== null)
    return [{ remoteRef: framework.remoteRef, local: framework.to, remote: framework.from }];
  if (process.stdin.isTTY) {
    throw new AppError("usage", "'hunkwise hook run pre-push' reads from git what is pushed", {
      remedy: "Let git run it, or use 'hunkwise review'.",
    });
  }
  const lines = (await allOf(process.stdin)).split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [, local, remoteRef, remote] = refLine.exec(line) ?? [];
    if (local === undefined || remoteRef === undefined || remote === undefined)
      throw new AppError("usage", `'${line}' does not say what is pushed`);
    return { local, remoteRef, remote };
  });
}

/** Each range is a review that is paid for. */
const MOST_RANGES = 5;
/** Of one review: a model that never answers holds up a push no longer. */
const MOST_MINUTES = 10;

async function reviewPush(io: CommandIo): Promise<number> {
  const refs = (await pushedRefs()).filter(
    ({ remoteRef, local }) => !isZero(local) && !/^refs\/(?:tags|notes)\//.test(remoteRef),
  );
  if (refs.length === 0) return exitCodes.clean;
  const { ranges, first } = await rangesOf(refs, io);
  let worst: number = exitCodes.clean;
  const note = (text: string) => write(io.stderr, `hunkwise: ${plainLine(text)}\n`);
  for (const name of first)
    await note(
      `${name} is new on the remote, and there is no other branch to compare it with, so it was not reviewed`,
    );
  for (const { base, head, names } of ranges.slice(0, MOST_RANGES)) {
    const called = { base: base?.slice(0, 12), head: names.join(", ") };
    const range = { ...(base !== undefined && { base }), head, called };
    const code = await reviewRange({ ...asHook, ...range, record: true, mostMinutes: MOST_MINUTES }, io);
    if (worst !== exitCodes.found && code !== exitCodes.clean) worst = code;
  }
  const rest = ranges.slice(MOST_RANGES).flatMap(({ names }) => names);
  if (rest.length === 0) return worst;
  await note(`not reviewed, because at most ${MOST_RANGES} branches of a push are: ${rest.join(", ")}`);
  return worst === exitCodes.found ? worst : exitCodes.incomplete;
}

interface PushedRange {
  /** Undefined: the default base of `hunkwise review`. */
  base: string | undefined;
  head: string;
  /** The branches of the remote. */
  names: string[];
}

/**
 * What the remote does not have yet. A new branch is compared with the default base, and so is one that was rewritten: since the commit that
 * the remote has, it may contain what others did meanwhile. `first` are branches that are that base themselves, of a remote that has none.
 */
async function rangesOf(
  refs: readonly PushedRef[],
  io: CommandIo,
): Promise<{ ranges: PushedRange[]; first: string[] }> {
  const { openHookRepository } = await import("../../repo/git/repository.ts");
  const { usualBase } = await import("../open-range.ts");
  await using repository = await openHookRepository(HERE, await found(io));
  await requireSame(repository);
  const ranges = new Map<string, PushedRange>();
  const first: string[] = [];
  for (const { local, remote, remoteRef } of refs) {
    const isForward = !isZero(remote) && (await repository.isAncestor(remote, local));
    const name = remoteRef.replace(/^refs\/heads\//, "");
    const usual = isForward ? null : await repository.firstOf(usualBase().names);
    if (usual?.sha === local && !usual.name.startsWith("refs/remotes/")) {
      first.push(name);
      continue;
    }
    const base = isForward ? remote : undefined;
    const known = ranges.get(`${base} ${local}`);
    if (known) known.names.push(name);
    else ranges.set(`${base} ${local}`, { base, head: local, names: [name] });
  }
  return { ranges: [...ranges.values()], first };
}

/** Rejects if git works on another repository than the one that is found from here: `git --git-dir=... push`. */
async function requireSame({ gitDir }: HookRepository): Promise<void> {
  const { gitDir: given } = hookVariables();
  if (given === undefined) return;
  const [own, other] = await Promise.all(
    [gitDir, resolve(given)].map((path) => realpath(path).catch(() => path)),
  );
  if (own !== other)
    throw new AppError(
      "repository_unavailable",
      `git works on ${other}, and the repository of this folder is ${own}`,
    );
}

/** One range may fail, and the others are reviewed all the same. */
async function reviewRange(values: Parameters<typeof reviewLocally>[0], io: CommandIo): Promise<number> {
  const { reviewLocally } = await import("./review.ts");
  try {
    return await reviewLocally(values, io);
  } catch (error) {
    if (io.signal.aborted) throw error;
    await write(io.stderr, complaint(error));
    return exitCodes.incomplete;
  }
}

/** The analyzers on what is staged, compared with the last commit: fast, and nothing leaves the machine. */
async function reviewCommit(io: CommandIo): Promise<number> {
  const { openHookRepository } = await import("../../repo/git/repository.ts");
  await using repository = await openHookRepository(HERE, await found(io));
  await requireSame(repository);
  const indexFile = resolve(hookVariables().indexFile ?? join(repository.gitDir, "index"));
  return reviewRange({ ...asHook, indexFile, staged: true, head: "HEAD", model: false, record: false }, io);
}
