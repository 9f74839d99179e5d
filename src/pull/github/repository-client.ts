import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { GitHubClient } from "./client.ts";
import { unlessGone, unlessRefused, unreadableAnswer } from "./errors.ts";
import type { AppIdentity } from "./own-text.ts";
import { PullRequestShape } from "./payload.ts";
import type {
  CheckAnnotation,
  CheckRunUpdate,
  FileProposal,
  OwnCheckRun,
  RepositoryApi,
  RepositoryWriter,
} from "./pull-request-api.ts";

/** Largest file that we read through the contents API; GitHub returns no content for larger ones. */
const largestFileBytes = 1_000_000;

const FileContent = z.object({
  type: z.literal("file"),
  sha: z.string().nullish(),
  size: z.number(),
  encoding: z.string(),
  content: z.string(),
});

interface CommittedFile {
  text: string;
  /** Object name of its blob, which GitHub requires to change a file. */
  blob: string | null;
}

/**
 * A file at a ref, or on the default branch. Rejects with `too_large`, and `github_invalid` for a submodule and a link out of the
 * repository.
 */
export async function readFile(
  client: GitHubClient,
  { owner, repo }: { owner: string; repo: string },
  path: string,
  ref?: string,
): Promise<CommittedFile | undefined> {
  const route = `GET ${contentsRoute(path)}`;
  const asked = client.request(route, { owner, repo, ...(ref !== undefined && { ref }) });
  const answer = await unlessGone(asked);
  return answer === null ? undefined : decodeFile(answer.data, path);
}

/** The contents API's route for a file, in octokit's format. A segment with a meaning in URLs would lead to another endpoint. */
function contentsRoute(path: string): string {
  const segments = path.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new AppError("usage", `"${path}" is not a valid path in a repository`);
  }
  return `/repos/{owner}/{repo}/contents/${segments.map(encodeURIComponent).join("/")}`;
}

/** For a symbolic link to a file of the repository GitHub returns that file; for any other link, the link. */
function decodeFile(data: unknown, path: string): CommittedFile | undefined {
  // For a folder, GitHub returns its entries.
  if (Array.isArray(data)) return undefined;
  const { success, data: file } = FileContent.safeParse(data);
  if (!success)
    throw new AppError("github_invalid", `${path} is not a regular file`, {
      remedy: "Replace it with the file itself.",
    });
  if (file.size > largestFileBytes || file.encoding !== "base64") {
    throw new AppError("too_large", `${path} is too large to be read (${file.size} bytes)`, {
      remedy: `Reduce it to less than ${largestFileBytes} bytes`,
    });
  }
  return { text: Buffer.from(file.content, "base64").toString("utf8"), blob: file.sha ?? null };
}

export interface RepositoryApiOptions {
  client: GitHubClient;
  owner: string;
  repo: string;
  app: AppIdentity;
}

/** The name in the list of checks, and in branch protection rules that require it. */
export const checkName = "Hunkwise";

/** 10,000 annotations. Beyond that we do not know which exist. */
const mostAnnotationPages = 100;

/** 1,000 check runs of ours on one commit. Beyond that we do not know their result. */
const mostCheckPages = 10;

/** The 1,000 open pull requests with the most recent activity. */
const mostPullPages = 10;

const Id = z.object({ id: z.int() });
const PermissionAnswer = z.object({
  permission: z.enum(["admin", "write", "read", "none"]).catch("none"),
  user: z.object({ id: z.int() }).nullish().catch(null),
});
export const CheckRuns = z.object({
  check_runs: z.array(
    z.object({
      id: z.int(),
      name: z.string().catch(""),
      app: z.object({ id: z.int() }).nullish(),
      external_id: z.string().nullish(),
      status: z.string(),
      conclusion: z.string().nullish(),
      output: z
        .object({
          title: z.string().nullish(),
          summary: z.string().nullish(),
          text: z.string().nullish(),
          annotations_count: z.int().nullish(),
        })
        .nullish(),
    }),
  ),
});
const Activities = z.array(
  z.object({
    after: z.string(),
    ref: z.string(),
    activity_type: z.string(),
    actor: z.object({ login: z.string() }).nullish(),
  }),
);
const Annotation = z.object({ raw_details: z.string().nullish() });
const Pulls = z.array(z.object({ number: z.int(), head: z.object({ sha: z.string() }) }));

export function createRepositoryApi({ client, owner, repo, app }: RepositoryApiOptions): RepositoryApi {
  const { rest } = client;
  const here = { owner, repo };
  const root = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;

  async function checkRunsAt(ref: string): Promise<CheckRunShape[]> {
    const asked = {
      ...here,
      ref,
      check_name: checkName,
      app_id: app.id,
      filter: "all",
      per_page: 100,
    } as const;
    const all: CheckRunShape[] = [];
    for (let page = 1; page <= mostCheckPages; page++) {
      const { data } = await rest.checks.listForRef({ ...asked, ...(page > 1 && { page }) });
      const runs = read(CheckRuns, data, "check runs").check_runs;
      all.push(...runs);
      if (runs.length < 100) return all;
    }
    throw new AppError("too_large", `${ref} has more than ${all.length} check runs of this App`);
  }

  return {
    async permissionOf(username, account) {
      const asked = rest.repos.getCollaboratorPermissionLevel({ ...here, username });
      const answer = await unlessRefused(asked, null);
      if (answer === null) return "none";
      const { permission, user } = PermissionAnswer.parse(answer.data);
      return account === undefined || user?.id === account ? permission : "none";
    },

    fileAt: async (path, ref) => (await readFile(client, here, path, ref))?.text,

    async commitPulls(sha) {
      const found: number[] = [];
      for (let page = 1; page <= mostPullPages; page++) {
        const latest = { state: "open", sort: "updated", direction: "desc", per_page: 100, page } as const;
        const { data } = await rest.pulls.list({ ...here, ...latest });
        const pulls = read(Pulls, data, "pull requests");
        found.push(...pulls.filter(({ head }) => head.sha === sha).map(({ number }) => number));
        if (pulls.length < 100) break;
      }
      return found;
    },

    async react({ id: comment_id, thread }, content) {
      const reaction = { ...here, comment_id, content };
      await (thread === null
        ? rest.reactions.createForIssueComment(reaction)
        : rest.reactions.createForPullRequestReviewComment(reaction));
    },

    async pushers(branch, headSha) {
      const ref = `refs/heads/${branch}`;
      const asked = rest.repos.listActivities({ ...here, ref, direction: "desc", per_page: 100 });
      const answer = await unlessRefused(asked, null);
      return answer && pushersUpTo(headSha, read(Activities, answer.data, "activities"), ref);
    },

    async pullState(number) {
      const answer = await unlessGone(rest.pulls.get({ ...here, pull_number: number }));
      return answer ? read(PullRequestShape, answer.data, `pull request ${number}`) : undefined;
    },

    checkRuns: async (headSha) =>
      (await checkRunsAt(headSha)).toSorted((a, b) => a.id - b.id).map(ownCheckRun),

    async createCheckRun(headSha, externalId, update) {
      const { data } = await rest.checks.create({
        ...here,
        name: checkName,
        head_sha: headSha,
        external_id: externalId,
        ...checkFields(update),
      });
      return read(Id, data, "check run").id;
    },

    async updateCheckRun(id, update) {
      await rest.checks.update({ ...here, check_run_id: id, ...checkFields(update) });
    },

    async ownAnnotations(headSha) {
      const runs = (await checkRunsAt(headSha)).filter(({ output }) => output?.annotations_count !== 0);
      const lists = runs.map(async ({ id, external_id }) => {
        const items = await client.list(`${root}/check-runs/${id}/annotations`, mostAnnotationPages);
        const annotations = read(z.array(Annotation), items, "annotations");
        return annotations.map(({ raw_details }) => ({
          externalId: external_id ?? "",
          details: raw_details ?? "",
        }));
      });
      return (await Promise.all(lists)).flat();
    },

    pause: (milliseconds) => setTimeout(milliseconds),
  };
}

/** Changes of a branch that only add what their actor pushed. */
const pushes = new Set(["push", "force_push", "branch_creation"]);

/** From the changes of a branch, newest first: everybody who contributed to its state at a head. */
function pushersUpTo(headSha: string, all: z.infer<typeof Activities>, ref: string): string[] | null {
  const head = all.findIndex(({ after }) => after === headSha);
  const creation = all.findIndex((one, at) => at >= head && one.activity_type === "branch_creation");
  if (head === -1 || creation === -1) return null;
  const logins = all
    .slice(head, creation + 1)
    .map((one) => (one.ref === ref && pushes.has(one.activity_type) ? (one.actor?.login ?? null) : null));
  return logins.every((login) => login !== null) ? [...new Set(logins)] : null;
}

export type CheckRunShape = z.infer<typeof CheckRuns>["check_runs"][number];

function ownCheckRun({ id, external_id, status, conclusion, output }: CheckRunShape): OwnCheckRun {
  const { title = null, summary = null, text = null } = output ?? {};
  return {
    id,
    externalId: external_id ?? "",
    completed: status === "completed",
    conclusion: conclusion ?? null,
    title,
    summary,
    text,
  };
}

/** Parses an answer. A mismatch is a fault of the other side, not of ours. */
export function read<T>(schema: z.ZodType<T>, data: unknown, what: string): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw unreadableAnswer(`the request for ${what}`, z.prettifyError(parsed.error).split("\n")[0] ?? "");
}

function checkFields({ status, conclusion, annotations, ...output }: CheckRunUpdate) {
  const wired = annotations && { annotations: annotations.map(wireAnnotation) };
  return { status, ...(conclusion && { conclusion }), output: { ...output, ...wired } };
}

const wireAnnotation = ({ path, startLine, endLine, level, title, message, details }: CheckAnnotation) => ({
  path,
  title,
  message,
  start_line: startLine,
  end_line: endLine,
  annotation_level: level,
  raw_details: details,
});

interface RepositoryWriterOptions {
  /** Uses a token that may write contents and pull requests. */
  client: GitHubClient;
  owner: string;
  repo: string;
}

const Ref = z.object({ object: z.object({ sha: z.string() }) });
const Page = z.object({ html_url: z.string() });

/**
 * Writes step by step, and first checks whether a step is done: a call after a fault continues there. Overwrites only the file on its
 * branch.
 */
export function createRepositoryWriter({ client, owner, repo }: RepositoryWriterOptions): RepositoryWriter {
  const { rest } = client;
  const here = { owner, repo };

  async function tipOf(branch: string): Promise<string | undefined> {
    const answer = await unlessGone(rest.git.getRef({ ...here, ref: `heads/${branch}` }));
    return answer ? read(Ref, answer.data, `the branch ${branch}`).object.sha : undefined;
  }

  async function createBranch({ branch, base }: FileProposal): Promise<void> {
    if ((await tipOf(branch)) !== undefined) return;
    const sha = await tipOf(base);
    if (sha === undefined) throw new AppError("github_not_found", `There is no branch ${base}`);
    await rest.git.createRef({ ...here, ref: `refs/heads/${branch}`, sha });
  }

  async function writeFile({ branch, path, text, title: message }: FileProposal): Promise<void> {
    const present = await readFile(client, here, path, branch);
    if (present?.text === text) return;
    const content = Buffer.from(text, "utf8").toString("base64");
    const replaced = present?.blob ? { sha: present.blob } : {};
    await client.request(`PUT ${contentsRoute(path)}`, { ...here, branch, message, content, ...replaced });
  }

  return {
    async propose(proposal) {
      const { branch, base, title, body } = proposal;
      // Open or closed: a change that a person closed is not proposed again.
      const asked = { ...here, head: `${owner}:${branch}`, state: "all", per_page: 1 } as const;
      const [earlier] = read(
        z.array(Page),
        (await rest.pulls.list(asked)).data,
        `the pull request of ${branch}`,
      );
      if (earlier !== undefined) return earlier.html_url;
      await createBranch(proposal);
      await writeFile(proposal);
      const { data } = await rest.pulls.create({ ...here, title, body, base, head: branch });
      return read(Page, data, "the pull request").html_url;
    },
  };
}
