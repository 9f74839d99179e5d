import { execFile } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type AppUnderTest, startApp } from "../../test/support/app-under-test.ts";
import type { GitRepo } from "../../test/support/git-repo.ts";
import { deliver } from "../../test/support/github-double/deliver.ts";
import { headOf, type Pull } from "../../test/support/github-double/model.ts";
import { type PullAction, pullRequestPayload } from "../../test/support/github-double/payloads.ts";
import { instantReviewer } from "../bench/instant-reviewer.ts";
import { type Peaks, watchMemory } from "../bench/memory.ts";
import type { Measuring } from "./dimension.ts";

/** Starts a server with an empty data folder that has reviewed a first small pull request, so that its code is loaded. */
export async function startReviewingServer(env: Record<string, string> = {}): Promise<AppUnderTest> {
  const app = await startApp({
    base: { "a.js": "one();\n" },
    head: { "a.js": "two();\n" },
    script: instantReviewer,
    env,
  });
  await app.send("opened");
  await app.concluded();
  return app;
}

/** Puts an existing bare repository on the app's GitHub, and opens a pull request for one of its branches. */
export function openPull(app: AppUnderTest, git: GitRepo, name: string, branch: string): Pull {
  symlinkSync(git.dir, join(app.github.folder.path, "octo-org", `${name}.git`));
  const repository = app.github.state.addRepository({ owner: "octo-org", name, git });
  app.people.addCollaborator(repository, "octocat", "write");
  app.github.state.install(app.app, [repository]);
  return app.people.openPullOfBranch(repository, branch, { title: "Change it", author: "octocat" });
}

export const payloadOf = (app: AppUnderTest, action: PullAction, pull: Pull) =>
  pullRequestPayload(app.github.state, action, pull);

/** Whether the newest head has a concluded check run. Throws if the review was not whole. */
export function isReviewed(pull: Pull): boolean {
  const id = `${headOf(pull)}:event#${pull.number}@${pull.baseRef}`;
  const run = pull.repository.checkRuns.find(
    ({ externalId, status }) => externalId === id && status === "completed",
  );
  if (run && run.conclusion !== "success")
    throw new Error(`A review ended with ${run.conclusion}: ${JSON.stringify(run).slice(0, 2_000)}`);
  return run !== undefined;
}

/** Seconds from sending the webhook until the review is published and its check run is concluded. */
async function secondsOfReview(app: AppUnderTest, action: PullAction, pull: Pull): Promise<number> {
  const payload = await payloadOf(app, action, pull);
  const target = { url: app.server.webhookUrl, secret: app.webhookSecret };
  const began = performance.now();
  const { status } = await deliver(app.github.state, "pull_request", payload, target);
  if (status >= 300) throw new Error(`The server answered a webhook with ${status}`);
  await app.github.until(() => isReviewed(pull));
  return (performance.now() - began) / 1_000;
}

export interface FirstAndSecond {
  size: number;
  /** A bare repository with the branch `topic`. */
  git: GitRepo;
  /** The files of the second push. */
  push: Parameters<AppUnderTest["people"]["push"]>[1];
}

/** Adds the costs of the first review of a repository on a new server, and of the second after a push. */
export async function reviewTwice({ size, git, push }: FirstAndSecond, measuring: Measuring): Promise<void> {
  measuring.say("  a server that never saw the repository reviews a pull request, then a push to it");
  await using app = await startReviewingServer();
  const pull = openPull(app, git, `large-${size}`, "topic");
  const peaks = watchMemory(app.server.process.pid ?? 0);
  const first = await secondsOfReview(app, "opened", pull);
  app.people.push(pull, push);
  const second = await secondsOfReview(app, "synchronize", pull);
  const { parent, child } = peaks();
  measuring.add("server, first review", "s", size, first);
  measuring.add("server, second review", "s", size, second);
  addMemory(measuring, "server", size, { parent, child });
  // The mirror's maintenance ends after the check run.
  await sleep(1_000);
  measuring.add("disk of the server", "MB", size, await megabytesOf(app.dataFolder));
}

/** Adds the peaks of a server or command and of its review process. */
export function addMemory({ add }: Measuring, of: string, size: number, { parent, child }: Peaks): void {
  if (child === 0) throw new Error("The review process was not seen");
  add(`memory, ${of}`, "MB", size, parent);
  add(`memory, ${of}'s review`, "MB", size, child);
}

/** The disk that a folder takes. */
async function megabytesOf(folder: string): Promise<number> {
  const { stdout } = await promisify(execFile)("du", ["-sk", folder]);
  return Number.parseInt(stdout, 10) / 1024;
}
