import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { ActionEnv } from "../../config/action-env.ts";
import { withOverrides } from "../../config/overrides.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import { type Severity, severities } from "../../core/finding.ts";
import type { PullRequest, PullRequestApi } from "../../pull/github/pull-request-api.ts";
import { hasWriteAccess } from "../../pull/ledger/authority.ts";
import type { NewJob } from "../../server/queue/job.ts";
import { eventReview } from "../../server/queue/job.ts";
import { decide } from "../../server/webhooks/decide.ts";

/** Jobs of an Action have no installation; their stores live as long as they do. */
const installation = 1;

const Repository = z.object({ id: z.int() }).nullish();
/** The fields that the Action reads besides those that a webhook's job needs. */
const Payload = z.object({
  action: z.string().nullish(),
  number: z.int().nullish(),
  sender: z.object({ login: z.string() }).nullish(),
  label: z.object({ name: z.string() }).nullish(),
  pull_request: z
    .object({
      head: z.object({ sha: z.string().nullish(), repo: Repository }).nullish(),
      base: z.object({ repo: Repository }).nullish(),
    })
    .nullish(),
});

/** The events whose workflow is the one of the pull request itself, merged into its base. */
const ofThePull = new Set(["pull_request", "pull_request_review", "pull_request_review_comment"]);

/** The event that started the workflow. */
export interface ActionEvent {
  name: string;
  /** The job that it starts, or why it starts none. */
  starts: { job: NewJob } | { nothing: string };
  /** The label that was added with this event, who added it, and the head at that time. */
  labeled: { label: string; by: string; head: string } | null;
  /** The workflow was written by the author of a pull request from a fork, or may have been: it gets no secrets. */
  isOfFork: boolean;
  /** Why no test of a finding runs here, as the end of a sentence; null if tests may run. */
  noProofs: string | null;
}

/**
 * Reads the event of the job as the App reads a webhook. Rejects with `usage` if neither it nor the inputs name a pull request.
 *
 * @param options.appSlug whose mentions in comments are commands
 * @param options.remembers whether earlier reviews are known. Otherwise a label that starts nothing would be a review of its own.
 */
export async function readEvent(
  { event: { name, file }, inputs, repository }: ActionEnv,
  { appSlug, remembers }: { appSlug: string; remembers: boolean },
): Promise<ActionEvent> {
  const payload = await readPayload(file);
  const { number, pull_request: pull, label, sender, action } = Payload.parse(payload);
  const head = pull?.head?.sha ?? null;
  const isLabeled = action === "labeled" && label && sender && head !== null;
  // A fork that is gone counts as one.
  const isFromFork = pull?.head?.repo?.id === undefined || pull.head.repo.id !== pull.base?.repo?.id;
  return {
    name,
    starts: startOf(),
    labeled: isLabeled ? { label: label.name, by: sender.login, head } : null,
    isOfFork: ofThePull.has(name) && isFromFork,
    noProofs: whyNoProofs(),
  };

  /**
   * A test runs the pull request's own code, so only for people who can push to the repository. All other events hold secrets, and may be
   * about the pull request of a stranger, whoever started them.
   */
  function whyNoProofs(): string | null {
    if (name !== "pull_request") return `proofs do not run on ${name}`;
    if (isFromFork) return "proofs do not run for forks";
    if (inputs.pullRequest !== null && inputs.pullRequest !== number)
      return "proofs do not run for a pull request that an input names";
    return null;
  }

  function startOf(): ActionEvent["starts"] {
    if (inputs.pullRequest !== null) {
      const job = eventReview({ installation, ...repository }, inputs.pullRequest, "");
      // Of the pull request as it is now.
      return { job: { ...job, task: { ...job.task, headSha: null } as NewJob["task"] } };
    }
    const isOther = label?.name.toLowerCase() !== inputs.reviewLabel.toLowerCase();
    if (!remembers && isOther && (action === "labeled" || action === "unlabeled"))
      return { nothing: `only the label "${inputs.reviewLabel}" starts a review without state-key` };
    const event = name === "pull_request_target" ? "pull_request" : name;
    if (!reviewEvents.has(event))
      throw new AppError("usage", `The event ${name} names no pull request`, {
        remedy:
          "Set the input pull-request to its number, or use pull_request_target, pull_request or issue_comment",
      });
    const options = { appSlug, appId: null, pushWindowMs: 0 };
    const decision = decide(event, { ...payload, installation: { id: installation } }, options);
    return "jobs" in decision ? { job: decision.jobs[0] } : { nothing: decision.ignored };
  }
}

/** The events of the App's webhooks that a workflow can have. */
const reviewEvents = new Set(["pull_request", "pull_request_review_comment", "issue_comment", "merge_group"]);

async function readPayload(file: string): Promise<object> {
  try {
    const payload: unknown = JSON.parse(await readFile(file, "utf8"));
    Payload.parse(payload);
    return payload as object;
  } catch (cause) {
    throw new AppError("usage", `GITHUB_EVENT_PATH (${file}) is not the event of a workflow`, { cause });
  }
}

/** Whether a model may be paid for this pull request, by the inputs of the workflow alone. */
type Admission =
  /** `head`: only this head may be reviewed; null: any. */
  | { admitted: true; head: string | null }
  /** `because` is a sentence for people. */
  | { admitted: false; because: string };

/**
 * Whether the event may start a review, which costs money: for people with write access, such as all who push to a branch of the repository.
 * For others, someone with write access adds a label, which counts only for the head at that time. `author_association` says nothing about
 * access.
 */
export async function admission(
  event: Pick<ActionEvent, "name" | "labeled">,
  { reviewsOf, reviewLabel }: ActionEnv["inputs"],
  pull: Pick<PullRequest, "author" | "source" | "headSha">,
  api: Pick<PullRequestApi, "permissionOf">,
): Promise<Admission> {
  const all: Admission = { admitted: true, head: null };
  if (reviewsOf === "everyone") return all;
  // GitHub lets only people with write access start a workflow by hand.
  if (event.name === "workflow_dispatch") return all;
  if (pull.source !== null && !pull.source.isFork) return all;
  if (await hasWriteAccess(api, pull.author)) return all;
  const { labeled } = event;
  const isMeant = labeled?.label.toLowerCase() === reviewLabel.toLowerCase() && labeled.head === pull.headSha;
  if (labeled && isMeant && (await hasWriteAccess(api, labeled.by)))
    return { admitted: true, head: pull.headSha };
  return {
    admitted: false,
    because:
      `${pull.author} cannot write to this repository. After reading the change, someone with write access can add the label ` +
      `"${reviewLabel}" or comment /review`,
  };
}

/**
 * The configuration of the base branch within the inputs of the workflow. The author of a pull request chooses the base among all branches,
 * so it can make a review cheaper and its check stricter, never more expensive or laxer.
 */
export function narrowed(config: EffectiveConfig, inputs: ActionEnv["inputs"]): EffectiveConfig {
  const { effort, maxCost, maxTokens, minimumSeverity, failOn, paths, instructions } = inputs;
  const { budget, check } = config;
  const most = [maxCost, budget.cost_usd].filter((one) => one !== null);
  const within: EffectiveConfig = {
    ...config,
    budget: { ...budget, tokens: Math.min(maxTokens, budget.tokens) },
    check:
      failOn === "never"
        ? check
        : { ...check, threshold: lower(failOn, check.threshold), fail: true, limit: "failure" },
  };
  // Otherwise a base could leave out what the workflow wants to fail for.
  const mildest =
    minimumSeverity ?? (failOn === "never" ? undefined : lower(failOn, config.minimum_severity));
  return withOverrides(within, {
    effort: effort ?? undefined,
    minimumSeverity: mildest,
    maxCostUsd: most.length === 0 ? undefined : Math.min(...most),
    only: [...paths],
    guidance: instructions,
  });
}

/** The threshold that more findings reach. */
function lower(one: Severity, other: Severity | "never"): Severity {
  if (other === "never") return one;
  // From the worst to the mildest.
  return severities.indexOf(one) > severities.indexOf(other) ? one : other;
}
