import { z } from "zod";
import { AppError } from "../errors.ts";
import type { GitHubClient } from "./client.ts";
import { readFile } from "./contents.ts";
import { unreadableAnswer } from "./errors.ts";
import type { AppIdentity } from "./own-text.ts";
import { PullRequestShape } from "./payload.ts";
import type { CheckAnnotation, CheckRunUpdate, OwnCheckRun, RepositoryApi } from "./pull-request-api.ts";

export interface RepositoryApiOptions {
  client: GitHubClient;
  owner: string;
  repo: string;
  app: AppIdentity;
}

/** As it stands in the list of checks, and in branch protection rules that require it. */
const checkName = "Hunkwise";

/** 10,000 annotations: beyond it we would not know what already stands. */
const mostAnnotationPages = 100;

/** 1,000 check runs of ours on one commit: beyond it we would not know what it comes to. */
const mostCheckPages = 10;

/** The 1,000 open pull requests in which something happened last. */
const mostPullPages = 10;

const Id = z.object({ id: z.int() });
const PermissionAnswer = z.object({ permission: z.enum(["admin", "write", "read", "none"]).catch("none") });
const CheckRuns = z.object({
  check_runs: z.array(
    z.object({
      id: z.int(),
      external_id: z.string().nullish(),
      status: z.string(),
      conclusion: z.string().nullish(),
      output: z
        .object({
          title: z.string().nullish(),
          summary: z.string().nullish(),
          text: z.string().nullish(),
          annotations_count: z.int().optional(),
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
    throw new AppError("too_large", `More than ${all.length} check runs of ours stand on ${ref}`);
  }

  return {
    async permissionOf(username) {
      try {
        const { data } = await rest.repos.getCollaboratorPermissionLevel({ ...here, username });
        return PermissionAnswer.parse(data).permission;
      } catch (error) {
        if (!isAnswer(error)) throw error;
        return "none";
      }
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
      try {
        const { data } = await rest.repos.listActivities({ ...here, ref, direction: "desc", per_page: 100 });
        return pushersUpTo(headSha, read(Activities, data, "activities"), ref);
      } catch (error) {
        if (isAnswer(error)) return null;
        throw error;
      }
    },

    async pullState(number) {
      try {
        const { data } = await rest.pulls.get({ ...here, pull_number: number });
        return read(PullRequestShape, data, `pull request ${number}`);
      } catch (error) {
        if (error instanceof AppError && error.code === "github_not_found") return undefined;
        throw error;
      }
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
  };
}

/** GitHub's "there is none" and "you may not know" are answers; everything else is asked again later. */
const isAnswer = (error: unknown): boolean =>
  error instanceof AppError && (error.code === "github_not_found" || error.code === "github_forbidden");

/** Changes of a branch by which nothing comes into it but what their actor pushed. */
const pushes = new Set(["push", "force_push", "branch_creation"]);

/** Of the changes of a branch, newest first, everybody who brought about its state at a head. */
function pushersUpTo(headSha: string, all: z.infer<typeof Activities>, ref: string): string[] | null {
  const head = all.findIndex(({ after }) => after === headSha);
  const creation = all.findIndex((one, at) => at >= head && one.activity_type === "branch_creation");
  if (head === -1 || creation === -1) return null;
  const logins = all
    .slice(head, creation + 1)
    .map((one) => (one.ref === ref && pushes.has(one.activity_type) ? (one.actor?.login ?? null) : null));
  return logins.every((login) => login !== null) ? [...new Set(logins)] : null;
}

type CheckRunShape = z.infer<typeof CheckRuns>["check_runs"][number];

function ownCheckRun({ id, external_id, status, conclusion, output }: CheckRunShape): OwnCheckRun {
  const { title = null, summary = null, text = null } = output ?? {};
  return {
    ...{ id, externalId: external_id ?? "", completed: status === "completed" },
    ...{ conclusion: conclusion ?? null, title, summary, text },
  };
}

/** Parses an answer; what does not fit is a fault of the far side, not of ours. */
export function read<T>(schema: z.ZodType<T>, data: unknown, what: string): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw unreadableAnswer(`the request for ${what}`, z.prettifyError(parsed.error).split("\n")[0] ?? "");
}

function checkFields({ status, conclusion, title, summary, text, annotations }: CheckRunUpdate) {
  const output = {
    ...{ title, summary },
    ...(text !== undefined && { text }),
    ...(annotations && { annotations: annotations.map(wireAnnotation) }),
  };
  return { status, ...(conclusion && { conclusion }), output };
}

function wireAnnotation({ path, startLine, endLine, level, title, message, details }: CheckAnnotation) {
  return {
    ...{ path, title, message },
    ...{ start_line: startLine, end_line: endLine, annotation_level: level, raw_details: details },
  };
}
